"""Write pairs of dates as people write them and as ISO 8601 writes them.

Usage: python generate.py --train train.tsv --test test.tsv
Standard Python only. Each line is `text<TAB>YYYY-MM-DD`. The days of the test
are none of the training's, in any form.
"""
import argparse
import datetime
import random

MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
            "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
            "twentieth", "twenty-first", "twenty-second", "twenty-third", "twenty-fourth", "twenty-fifth",
            "twenty-sixth", "twenty-seventh", "twenty-eighth", "twenty-ninth", "thirtieth", "thirty-first"]
GERMAN = ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
          "Dezember"]
FIRST, LAST = datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)


def ordinal(day):
    """1st, 2nd, 3rd, 4th ... 31st."""
    ending = "th" if 10 <= day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


def day_text(date, rng):
    return rng.choice([str(date.day), f"{date.day:02}", ordinal(date.day)])


def month_text(date, rng):
    name = MONTHS[date.month - 1]
    return rng.choice([name, name[:3], name[:3] + "."])


def year_text(date, rng):
    """Four digits, or for 1950 to 2049 sometimes the last two."""
    if 1950 <= date.year < 2050 and rng.random() < 0.2:
        return f"'{date.year % 100:02}"
    return str(date.year)


def words(date, rng):
    """With the month's name."""
    day, month, year = day_text(date, rng), month_text(date, rng), year_text(date, rng)
    form = rng.randrange(6)
    if form == 0:
        text = f"{day} {month} {year}"
    elif form == 1:
        text = f"{month} {day}, {year}"
    elif form == 2:
        text = f"{month} {day} {year}"
    elif form == 3:
        text = f"the {ordinal(date.day)} of {MONTHS[date.month - 1]} {year}"
    elif form == 4:
        text = f"{rng.choice(['', 'the '])}{ORDINALS[date.day - 1]} of {MONTHS[date.month - 1]} {year}"
    else:
        text = f"{day}-{month.rstrip('.')}-{year}"
    if rng.random() < 0.3:
        name = DAYS[date.weekday()]
        text = f"{rng.choice([name, name[:3]])}{rng.choice([',', ''])} {text}"
    return text


def numbers(date, rng):
    """Slashes have the month first (United States), dots the day (Europe), dashes the year."""
    year, month, day = date.year, date.month, date.day
    form = rng.randrange(5)
    if form == 0:
        return f"{month}/{day}/{year}"
    if form == 1:
        return f"{month:02}/{day:02}/{year}"
    if form == 2:
        return f"{day}.{month}.{year}"
    if form == 3:
        return f"{day:02}.{month:02}.{year}"
    return f"{year}-{month}-{day}"


def abroad(date, rng):
    """German and Korean."""
    if rng.random() < 0.5:
        return f"{date.day}. {GERMAN[date.month - 1]} {date.year}"
    space = rng.choice([" ", ""])
    return f"{date.year}년{space}{date.month}월{space}{date.day}일"


def write_date(date, rng):
    text = rng.choices([words, numbers, abroad], [6, 3, 1])[0](date, rng)
    return rng.choice([text, text, text.lower(), text.upper()])


def pairs(days, count, rng):
    for _ in range(count):
        date = FIRST + datetime.timedelta(rng.choice(days))
        yield write_date(date, rng), date.isoformat()


def write(path, lines):
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(f"{text}\t{iso}\n" for text, iso in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", default="train.tsv")
    parser.add_argument("--test", default="test.tsv")
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    days = list(range((LAST - FIRST).days + 1))
    rng.shuffle(days)
    write(args.test, [next(pairs([day], 1, rng)) for day in days[:1000]])
    write(args.train, pairs(days[1000:], args.count, rng))


if __name__ == "__main__":
    main()
