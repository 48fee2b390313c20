"""Write parallel Korean and English everyday sentences from a grammar.

Usage: python generate.py --train train.tsv --test test.tsv

Each line is `Korean<TAB>English`. The Korean determines the English: a
sentence that came out with two translations stops the run. A subject left out
is `I` in a statement and `you` in a question. No pair, training or test, has
the Korean or the English of the showcase sentence below.
"""
import argparse
import random
from collections import Counter
from dataclasses import dataclass

import english as en
import korean as ko
import lexicon as lex

SHOWCASE = ("어제 카페 갔었어 거기 사람 많더라",
            "I went to the cafe yesterday there were many people")

# English tense -> (Korean auxiliary, form of the auxiliary or of the verb itself)
TENSES = {
    "present": ("", "present"), "past": ("", "past"), "past_perfect": ("", "past_perfect"),
    "future": ("", "future"), "promise": ("", "promise"), "retrospective": ("", "retrospective"),
    "progressive": ("progressive", "present"), "past_progressive": ("progressive", "past"),
    "want": ("want", "present"), "wanted": ("want", "past"),
    "can": ("can", "present"), "could": ("can", "past"),
    "must": ("must", "present"), "had_to": ("must", "past"), "intend": ("intend", "present"),
}
PAST = ("past", "past_perfect", "retrospective", "past_progressive", "wanted", "could", "had_to")
FUTURE = ("future", "promise", "intend", "want", "can", "must")


@dataclass
class Frame:
    """A verb with everything but subject, time and tense."""

    verb: lex.Verb
    before: list            # Korean constituents, in order
    after: str              # English after the verb
    qualities: tuple = ()   # adjectives that can comment on the object or place
    plural: bool = False    # the comment says `they`


@dataclass
class Scene:
    """Speaker's choices that hold for a whole sentence."""

    rng: random.Random
    polite: bool

    def chance(self, probability):
        return self.rng.random() < probability

    def pick(self, options):
        return self.rng.choice(options)

    def casually(self, full, bare):
        """A particle is dropped often in casual and seldom in polite speech."""
        return bare if self.chance(0.1 if self.polite else 0.5) else full

    def weighted(self, options):
        return self.rng.choices(list(options), weights=list(options.values()))[0]


# ---------------------------------------------------------------- noun phrases

def name_base(scene, person):
    """Closed names take 이 before a particle in casual speech (지민이가)."""
    closed = person in lex.NAMES and ko.tail_of(person.ko) != " "
    return person.ko + "이" if closed and not scene.polite else person.ko


def subject_phrase(scene, person):
    """A subject with topic or subject particle, or bare where that stays clear."""
    nominative = {"나": "내가", "저": "제가", "너": "네가"}
    base = name_base(scene, person)
    topic = ko.particle(base, "은", "는")
    plain = nominative.get(person.ko) or ko.particle(base, "이", "가")
    bare = person.ko if person.agreement in "12" else topic
    return scene.casually(scene.pick([topic, plain]), bare)


def companion(scene, person):
    """`with someone`: (이)랑, 하고 or 과/와."""
    base = name_base(scene, person)
    phrase = scene.pick([ko.particle(base, "이랑", "랑"), base + "하고",
                         ko.particle(base, "과", "와")])
    return phrase, "with " + person.en


def object_phrase(scene, noun, qualities):
    """A noun phrase as (Korean without particle, English, is plural)."""
    thing = noun.counter != ""
    shape = scene.weighted({"bare": 5, "quality": 2 if qualities else 0,
                            "this": thing, "mine": thing, "number": 2 * thing})
    if shape == "quality":
        quality = scene.pick(qualities)
        return ko.modifier(quality.stem) + " " + noun.ko, noun.indefinite(quality.en), noun.plural_only
    if shape == "this":
        word, meaning = scene.pick([("이", "this"), ("그", "that")])
        return word + " " + noun.ko, noun.determined(meaning), noun.plural_only
    if shape == "mine":
        return ("제 " if scene.polite else "내 ") + noun.ko, noun.determined("my"), noun.plural_only
    if shape == "number":
        return numbered(scene, noun)
    return noun.ko, noun.indefinite(), noun.plural_only


def numbered(scene, noun):
    """`책 두 권` / `two books`."""
    index = scene.rng.randrange(10)
    number, word = lex.NUMBERS[index]
    return f"{noun.ko} {number} {noun.counter}", noun.counted((word, index == 0)), index > 0


def accusative(scene, phrase):
    """을/를, droppable."""
    return scene.casually(ko.particle(phrase, "을", "를"), phrase)


def time_phrase(scene, tense):
    """A time that suits the tense, as (Korean, English); often empty."""
    if scene.chance(0.35):
        return "", ""
    if tense in PAST:
        kinds = {"past": 5, "any": 1, "ago": 1, "clock": 1, "weekday": 1}
    elif tense in FUTURE:
        kinds = {"future": 5, "any": 1, "clock": 1, "weekday": 1}
    else:
        kinds = {"now": 1} if tense == "progressive" else {"present": 1}
    kind = scene.weighted(kinds)
    if kind == "ago":
        return time_ago(scene)
    if kind == "clock":
        return clock(scene, "past" if tense in PAST else "future")
    if kind == "weekday":
        korean, meaning = scene.pick(lex.DAYS)
        return korean + "에", "on " + meaning
    korean, meaning, marked = scene.pick(lex.TIMES[kind])
    return (scene.casually(korean + "에", korean) if marked else korean), meaning


def time_ago(scene):
    """`삼 일 전에` / `three days ago`."""
    number, word = scene.pick(lex.SINO_NUMBERS)
    unit, meaning = scene.pick([("일", "days"), ("주", "weeks"), ("년", "years")])
    return f"{number} {unit} 전에", f"{word} {meaning} ago"


def clock(scene, kind):
    """`어제 세 시에` / `at three o'clock yesterday`, the day being optional."""
    number, word = scene.pick(lex.NUMBERS)
    day, meaning, _ = scene.pick([("", "", False)] + lex.TIMES[kind][:2])
    return f"{day} {number} 시에".strip(), en.words("at", word, "o'clock", meaning)


# ---------------------------------------------------------------------- frames

def action_place(scene):
    """An optional place where something is done."""
    if scene.chance(0.6):
        return [], ""
    place = scene.pick(lex.PLACES + [lex.HERE, lex.THERE])
    return [place.ko_at], place.at


def action_companion(scene, person):
    """An optional companion other than the subject."""
    if scene.chance(0.75):
        return [], ""
    phrase, meaning = companion(scene, scene.pick([p for p in lex.PEOPLE if p != person]))
    return [phrase], meaning


def transitive(scene, person):
    """[with someone] [somewhere] something VERB."""
    verb, nouns, qualities = scene.pick(lex.TRANSITIVE)
    phrase, meaning, plural = object_phrase(scene, scene.pick(nouns), qualities)
    with_ko, with_en = action_companion(scene, person)
    at_ko, at_en = action_place(scene)
    thing, around = [accusative(scene, phrase)], with_ko + at_ko
    scrambled = thing[0] != phrase and scene.chance(0.15)
    return Frame(verb, thing + around if scrambled else around + thing,
                 en.words(meaning, with_en, at_en), tuple(qualities), plural)


def social(scene, person):
    """Someone as the object: meet, wait for, help."""
    other = scene.pick([p for p in lex.PEOPLE if p != person])
    at_ko, at_en = action_place(scene)
    base = name_base(scene, other)
    phrase = scene.casually(ko.particle(base, "을", "를"), base)
    return Frame(scene.pick(lex.SOCIAL), at_ko + [phrase], en.words(other.en, at_en))


def intransitive(scene, person):
    """[with someone] [somewhere] VERB."""
    with_ko, with_en = action_companion(scene, person)
    at_ko, at_en = action_place(scene)
    return Frame(scene.pick(lex.INTRANSITIVE), with_ko + at_ko, en.words(with_en, at_en))


def dative(scene, person):
    """to someone something VERB."""
    other = scene.pick([p for p in lex.PEOPLE if p != person])
    gift = scene.pick(lex.THINGS + lex.WRITING)
    phrase, meaning, _ = object_phrase(scene, gift, lex.THING_QUALITIES)
    to = name_base(scene, other) + scene.pick(["한테", "에게"])
    return Frame(scene.pick(lex.DATIVE), [to, accusative(scene, phrase)],
                 en.words(meaning, "to", other.en))


def motion(scene, person):
    """[with someone] [by bus] [to do something] to a place GO."""
    verb = scene.weighted({lex.GO: 6, lex.COME: 2, lex.STOP_BY: 1, lex.ARRIVE: 1})
    place = scene.pick(lex.PLACES if verb == lex.STOP_BY else lex.PLACES + [lex.HERE, lex.THERE])
    arrival = place.en if place == lex.HOME else place.at
    goal = {lex.STOP_BY: place.en, lex.ARRIVE: arrival}.get(verb, place.to)
    with_ko, with_en = action_companion(scene, person)
    by_ko, by_en = ride(scene)
    for_ko, for_en = purpose(scene) if verb in (lex.GO, lex.COME) else ([], "")
    where = scene.casually(place.ko + "에", place.ko)
    return Frame(verb, with_ko + by_ko + for_ko + [where],
                 en.words(goal, for_en, with_en, by_en), tuple(lex.PLACE_QUALITIES))


def ride(scene):
    """An optional means of transport."""
    if scene.chance(0.8):
        return [], ""
    korean, meaning = scene.pick(lex.RIDES)
    return [ko.by_means(korean)], "by " + meaning


def purpose(scene):
    """An optional purpose: `책 사러` / `to buy a book`."""
    if scene.chance(0.8):
        return [], ""
    verb, nouns, _ = scene.pick(lex.ERRANDS)
    noun = scene.pick(nouns)
    return [accusative(scene, noun.ko), verb.stem.joined("러")], en.words("to", verb.en, noun.indefinite())


def stay(scene, person):
    """Being somewhere."""
    place = scene.pick(lex.PLACES + [lex.HERE, lex.THERE])
    return Frame(lex.STAY, [place.ko + "에"], place.at)


def any_frame(scene, person):
    """Some frame for the given subject."""
    build = scene.weighted({transitive: 9, motion: 5, intransitive: 3, social: 2, dative: 2, stay: 1})
    return build(scene, person)


# ------------------------------------------------------------------ predicates

def short_negation(verb, word):
    """안 or 못 before the verb; it splits a light verb: 공부 안 하."""
    text = verb.stem.text
    if verb.light:
        noun, _, honorific = text.rpartition("하")
        return ko.Stem(f"{noun} {word} 하{honorific}")
    return ko.Stem(f"{word} {text}", verb.stem.irregular)


def inflected_stem(scene, verb, tense, negative, person):
    """The Korean stem with honorific, auxiliary and negation applied."""
    auxiliary, form = TENSES[tense]
    stem = verb.stem
    if person.respected and scene.polite and scene.chance(0.5):
        stem = verb.honorific or stem.honorific()
        verb = lex.Verb(stem, verb.en, verb.light)
    long_form = auxiliary in ("want", "can") or scene.chance(0.4)
    if not negative or long_form and form != "retrospective":
        stem = ko.with_auxiliary(stem, auxiliary)
        return ko.negated(stem, negative == "unable") if negative else stem
    short = short_negation(verb, "못" if negative == "unable" else "안")
    return ko.with_auxiliary(short, auxiliary)


def choose_tense(scene, person):
    """A tense the person can be the subject of."""
    options = {"past": 8, "past_perfect": 3, "present": 3, "future": 4, "progressive": 2,
               "past_progressive": 1, "can": 1, "could": 1, "must": 1, "had_to": 1, "intend": 1}
    if person.agreement == "1":
        options.update(want=2, wanted=1, promise=1)
    if person in lex.PEOPLE:
        options.update(retrospective=3)
    return scene.weighted(options)


def choose_negation(scene, tense, verb):
    """'', 'not' or 'unable' where the tense (and 있다) allows it."""
    both = ("past", "past_perfect", "present")
    plain = ("future", "retrospective", "want", "wanted", "can", "could")
    if tense not in both + plain or verb == lex.STAY or scene.chance(0.8):
        return ""
    return scene.pick(["not", "unable"] if tense in both else ["not"])


def english_group(verb, tense, agreement, negative):
    """The English verb group; inability turns into can/could."""
    if negative == "unable":
        tense = "could" if tense in PAST else "can"
    return (en.denied if negative else en.affirmed)(verb.en, tense, agreement)


# --------------------------------------------------------------------- clauses

def choose_person(scene):
    """The subject; None is a dropped `I`."""
    kind = scene.weighted({"dropped": 5, "I": 2, "we": 1, "person": 4})
    return {"dropped": lambda: None, "I": lambda: lex.I[scene.polite],
            "we": lambda: lex.WE[scene.polite], "person": lambda: scene.pick(lex.PEOPLE)}[kind]()


def opening(scene, person, time):
    """Subject and time in either order."""
    if person is None:
        return [time]
    subject = subject_phrase(scene, person)
    return [subject, time] if scene.chance(0.6) else [time, subject]


def action(scene, tense=None, ending=ko.statement):
    """A plain clause about someone doing something: (Korean, English, frame)."""
    shown = choose_person(scene)
    person = shown or lex.I[scene.polite]
    tense = tense or choose_tense(scene, person)
    frame = any_frame(scene, person)
    if frame.verb == lex.STAY and TENSES[tense][0] == "progressive":
        tense = "past"
    negative = choose_negation(scene, tense, frame.verb)
    time_ko, time_en = time_phrase(scene, tense)
    often_ko, often_en = frequency(scene, tense, negative or time_en)
    stem = inflected_stem(scene, frame.verb, tense, negative, person)
    predicate = ending(stem, TENSES[tense][1], scene.polite)
    group = english_group(frame.verb, tense, person.agreement, negative)
    if often_en:
        group = often_en + " " + group if frame.verb.en != "be" else group + " " + often_en
    return (en.words(*opening(scene, shown, time_ko), often_ko, *frame.before, predicate),
            en.words(person.en, group, frame.after, time_en), frame)


def frequency(scene, tense, blocked):
    """An adverb of frequency with the present habitual."""
    if tense != "present" or blocked or scene.chance(0.4):
        return "", ""
    return scene.pick(lex.FREQUENCIES)


def described(scene, subject_ko, subject_en, agreement, qualities, tail_en="", tense=None):
    """A clause with an adjective: SUBJECT be [very] ADJECTIVE."""
    quality = scene.pick(qualities)
    tense = tense or scene.weighted({"retrospective": 3, "past": 3, "present": 3})
    degree_ko, degree_en = scene.pick(lex.DEGREES) if scene.chance(0.5) else ("", "")
    negative = not degree_ko and scene.chance(0.15)
    stem = ko.negated(quality.stem, False) if negative else quality.stem
    group = (en.denied if negative else en.affirmed)("be", tense, agreement)
    return (en.words(subject_ko, degree_ko, ko.statement(stem, TENSES[tense][1], scene.polite)),
            en.words(subject_en, group, degree_en, quality.en, tail_en))


def existence(scene, where_ko, where_en, tense, time=("", "")):
    """`거기 사람 많더라` / `there were many people`."""
    noun = scene.pick(lex.EXISTING)
    amount = scene.weighted({"many": 5, "some": 2, "none": 2, "number": 2 if noun.counter else 0})
    phrase = scene.casually(ko.particle(noun.ko, "이", "가"), noun.ko)
    degree = ""
    plural = noun.plural is not None
    if amount == "many":
        degree, many, much = scene.pick(lex.CROWDS) if scene.chance(0.3) else ("", "many", "a lot of")
        meaning = en.words(many, noun.plural) if plural else en.words(much, noun.en)
    elif amount == "some":
        meaning, plural = noun.indefinite(), False
    elif amount == "none":
        meaning = "no " + (noun.plural or noun.en)
    else:
        phrase, meaning, plural = numbered(scene, noun)
    stem = ko.Stem({"many": "많", "none": "없"}.get(amount, "있"))
    verb = en.affirmed("be", tense, "p" if plural else "3")
    predicate = ko.statement(stem, TENSES[tense][1], scene.polite)
    return (en.words(time[0], where_ko, phrase, degree, predicate),
            en.words("there", verb, meaning, where_en, time[1]))


def weather(scene, ending, tense, falling_tense=None):
    """`비가 오` / `it rained`, or `춥` / `it was cold`; (Korean, English)."""
    if scene.chance(0.4):
        noun, verb = scene.pick(list(lex.FALLING.items()))
        return (en.words(accustomed(scene, noun), ending(lex.COME.stem, TENSES[tense][1])),
                en.words("it", en.affirmed(verb, falling_tense or tense, "3")))
    quality = scene.pick(lex.WEATHER)
    subject, it = scene.pick([("", "it"), (accustomed(scene, "날씨"), "the weather")])
    return (en.words(subject, ending(quality.stem, TENSES[tense][1])),
            en.words(it, en.affirmed("be", tense, "3"), quality.en))


def accustomed(scene, noun):
    """A subject noun whose 이/가 may drop."""
    return scene.casually(ko.particle(noun, "이", "가"), noun)


# ------------------------------------------------------------------- sentences

def single(scene):
    """One clause about an action."""
    return action(scene)[:2]


def property_sentence(scene):
    """A thing or a place described."""
    if scene.chance(0.6):
        _, nouns, qualities = scene.pick([t for t in lex.TRANSITIVE if t[2]])
        noun = scene.pick(nouns)
        pointers = [("", "the")] + ([("이", "this"), ("그", "that")] if noun.counter else [])
        word, meaning = scene.pick(pointers)
        named = noun in lex.SUBJECTS + lex.SKILLS
        return described(scene, case(scene, en.words(word, noun.ko)),
                         noun.en if named else noun.determined(meaning),
                         "p" if noun.plural_only else "3", qualities)
    place = scene.pick([p for p in lex.PLACES if p.en.startswith("the ")])
    return described(scene, case(scene, place.ko), place.en, "3", lex.PLACE_QUALITIES)


def case(scene, phrase):
    """은/는 or 이/가 on a described noun."""
    marked = scene.pick([ko.particle(phrase, "은", "는"), ko.particle(phrase, "이", "가")])
    return scene.casually(marked, phrase)


def existence_sentence(scene):
    """Something exists at a place."""
    place = scene.pick(lex.PLACES[1:])
    tense = scene.pick(["retrospective", "past", "present"])
    time = time_phrase(scene, tense) if tense == "past" else ("", "")
    return existence(scene, scene.casually(place.ko + "에", place.ko), place.at, tense, time)


def feeling_sentence(scene):
    """`어제 너무 피곤했어` / `I was too tired yesterday`."""
    shown = choose_person(scene)
    person = shown or lex.I[scene.polite]
    tense = scene.pick(["past", "present"])
    time_ko, time_en = state_time(scene, tense)
    return described(scene, en.words(*opening(scene, shown, time_ko)), person.en, person.agreement,
                     lex.FEELINGS, time_en, tense)


def weather_sentence(scene):
    """`오늘 너무 추워` / `it is too cold today`, `비가 와` / `it is raining`."""
    tense = scene.pick(["retrospective", "past", "present", "future"])
    time_ko, time_en = state_time(scene, tense)
    if scene.chance(0.6):
        subject, it = scene.pick([("", "it"), (accustomed(scene, "날씨"), "the weather")])
        return described(scene, en.words(time_ko, subject), it, "3", lex.WEATHER, time_en, tense)
    noun, verb = scene.pick(list(lex.FALLING.items()))
    predicate = ko.statement(lex.COME.stem, TENSES[tense][1], scene.polite)
    group = en.affirmed(verb, "progressive" if tense == "present" else tense, "3")
    return en.words(time_ko, accustomed(scene, noun), predicate), en.words("it", group, time_en)


def state_time(scene, tense):
    """A time for a state; at present that is today, now or these days."""
    if tense == "present":
        return scene.pick([("", ""), ("오늘", "today"), ("지금", "now"), ("요즘", "these days")])
    return time_phrase(scene, tense)


def question(scene):
    """A yes-no question, or a wh-question, which may end like a statement."""
    shown = scene.pick(lex.PEOPLE) if scene.chance(0.4) else (
        lex.YOU if not scene.polite and scene.chance(0.5) else None)
    person = shown or lex.YOU
    tense = scene.weighted({"past": 4, "present": 2, "future": 2, "progressive": 1,
                            "want": person == lex.YOU})
    asked = scene.weighted({"": 4, "where": 2, "what": 2, "who": 1, "when": 1, "why": 1})
    frame, wh_ko, wh_en = asked_frame(scene, person, asked)
    if frame.verb == lex.STAY:
        tense = "past"
    time_ko, time_en = ("", "") if asked == "when" else time_phrase(scene, tense)
    stem = ko.with_auxiliary(frame.verb.stem, TENSES[tense][0])
    ending = ko.statement if asked and scene.chance(0.5) else ko.question
    return (en.words(*opening(scene, shown, time_ko), wh_ko, *frame.before,
                     ending(stem, TENSES[tense][1], scene.polite)),
            en.words(wh_en, en.asked(frame.verb.en, tense, person.agreement, person.en),
                     frame.after, time_en))


def asked_frame(scene, person, asked):
    """The frame of a question with the question word taken out of it."""
    if asked == "where":
        return Frame(scene.pick([lex.GO, lex.STAY]), [scene.casually("어디에", "어디")], ""), "", "where"
    if asked == "what":
        verb = scene.pick([t[0] for t in lex.TRANSITIVE if t[0] != lex.GRILL])
        place_ko, place_en = action_place(scene)
        return Frame(verb, place_ko + [scene.pick(["뭐", "뭘", "무엇을"])], place_en), "", "what"
    if asked == "who":
        place_ko, place_en = action_place(scene)
        whom = scene.casually("누구를", "누구")
        return Frame(scene.pick(lex.SOCIAL), place_ko + [whom], place_en), "", "who"
    word = {"when": "언제", "why": "왜"}.get(asked, "")
    return any_frame(scene, person), word, asked


def proposal(scene):
    """`let us ...` or `do not ...`."""
    form = "forbid" if scene.polite or scene.chance(0.4) else "suggest"
    frame = any_frame(scene, lex.I[scene.polite])
    time_ko, time_en = time_phrase(scene, "future")
    return (en.words(time_ko, *frame.before, ko.statement(frame.verb.stem, form, scene.polite)),
            en.words("let us" if form == "suggest" else "do not", frame.verb.en, frame.after, time_en))


def visit_and_remark(scene):
    """A visit, then what the place was like (the showcase's shape)."""
    tense = scene.pick(["past", "past_perfect"])
    person = choose_person(scene)
    frame = motion(scene, person or lex.I[scene.polite])
    time_ko, time_en = time_phrase(scene, tense)
    speaker = person or lex.I[scene.polite]
    stem = inflected_stem(scene, frame.verb, tense, "", speaker)
    first = (en.words(*opening(scene, person, time_ko), *frame.before,
                      ko.statement(stem, TENSES[tense][1], scene.polite)),
             en.words(speaker.en, en.affirmed(frame.verb.en, tense, speaker.agreement),
                      frame.after, time_en))
    there = scene.pick(["거기", "거기", ""])
    remark = scene.pick(["retrospective", "past"])
    if scene.chance(0.65):
        where = scene.casually(there + "에", there) if there else ""
        second = existence(scene, where, "", remark)
    else:
        second = described(scene, there, "it", "3", lex.PLACE_QUALITIES,
                           "there" if there else "", remark)
    return first[0] + " " + second[0], first[1] + " " + second[1]


def action_and_remark(scene):
    """Something done to a thing, then what the thing was like."""
    first_ko, first_en, frame = action(scene, scene.pick(["past", "past_perfect"]))
    if not frame.qualities or frame.verb in (lex.GO, lex.COME, lex.STOP_BY, lex.ARRIVE):
        return two_actions(scene)
    agreement, pronoun = ("p", "they") if frame.plural else ("3", "it")
    second_ko, second_en = described(scene, "", pronoun, agreement, frame.qualities, "",
                                     scene.pick(["retrospective", "past"]))
    return first_ko + " " + second_ko, first_en + " " + second_en


def two_actions(scene):
    """Two plain clauses side by side."""
    first_ko, first_en, _ = action(scene)
    second_ko, second_en, _ = action(scene)
    return first_ko + " " + second_ko, first_en + " " + second_en


def but(scene):
    """-지만: both clauses carry their own tense."""
    ending = lambda stem, form, polite: ko.contrasted(stem, form)
    first_ko, first_en, _ = action(scene, scene.pick(["past", "present"]), ending)
    second_ko, second_en, _ = action(scene)
    return first_ko + " " + second_ko, first_en + " but " + second_en


def so(scene):
    """-아서/어서: the reason takes its tense from the main clause."""
    tense = scene.weighted({"past": 5, "future": 2, "must": 1, "want": 1})
    reason_tense = "past" if tense == "past" else "present"
    if scene.chance(0.5):
        reason_ko, reason_en = weather(scene, lambda stem, form: stem.infinitive() + "서", reason_tense,
                                       "past" if tense == "past" else "progressive")
    else:
        quality = scene.pick(lex.FEELINGS)
        reason_ko = quality.stem.infinitive() + "서"
        reason_en = en.words("I", en.affirmed("be", reason_tense, "1"), quality.en)
    main_ko, main_en = own_action(scene, tense)
    return reason_ko + " " + main_ko, reason_en + " so " + main_en


def own_action(scene, tense, timed=True):
    """The speaker's action in a given tense, subject mostly dropped."""
    speaker = lex.I[scene.polite]
    frame = any_frame(scene, speaker)
    time_ko, time_en = time_phrase(scene, tense) if timed else ("", "")
    stem = inflected_stem(scene, frame.verb, tense, "", speaker)
    shown = speaker if scene.chance(0.3) else None
    return (en.words(*opening(scene, shown, time_ko), *frame.before,
                     ko.statement(stem, TENSES[tense][1], scene.polite)),
            en.words("I", en.affirmed(frame.verb.en, tense, "1"), frame.after, time_en))


def conditional(scene):
    """-(으)면: weather as the condition of a plan."""
    time_ko, time_en = scene.pick([("", ""), ("내일", "tomorrow"), ("오늘", "today")])
    if_ko, if_en = weather(scene, lambda stem, form: stem.joined("면"), "present")
    main_ko, main_en = own_action(scene, scene.pick(["future", "promise"]), timed=not time_ko)
    return en.words(time_ko, if_ko, main_ko), en.words("if", if_en, time_en, main_en)


def sequence(scene):
    """-고: one subject, two actions; the time moves to the end in English."""
    shown = choose_person(scene)
    person = shown or lex.I[scene.polite]
    tense = scene.weighted({"past": 4, "future": 2, "present": 2})
    first, second = any_frame(scene, person), any_frame(scene, person)
    time_ko, time_en = time_phrase(scene, tense)
    stem = inflected_stem(scene, second.verb, tense, "", person)
    verbs = [en.affirmed(frame.verb.en, tense, person.agreement) for frame in (first, second)]
    return (en.words(*opening(scene, shown, time_ko), *first.before, first.verb.stem.text + "고",
                     *second.before, ko.statement(stem, TENSES[tense][1], scene.polite)),
            en.words(person.en, verbs[0], first.after, "and", verbs[1].removeprefix("will "),
                     second.after, time_en))


def before_or_after(scene):
    """-기 전에, -(으)ㄴ 후에: the clause order turns round."""
    speaker = lex.I[scene.polite]
    inner = any_frame(scene, speaker)
    link_ko, link_en = scene.pick([(inner.verb.stem.text + "기 전에", "before"),
                                   (inner.verb.stem.closed_by("ㄴ") + " 후에", "after")])
    main_ko, main_en = own_action(scene, scene.pick(["past", "future"]))
    return (en.words(*inner.before, link_ko, main_ko),
            en.words(main_en, link_en, en.gerund(inner.verb.en), inner.after))


SENTENCES = {
    single: 30, question: 8, proposal: 3, property_sentence: 5, existence_sentence: 4,
    weather_sentence: 4, feeling_sentence: 4, visit_and_remark: 14, action_and_remark: 10,
    two_actions: 6, but: 4, so: 5, conditional: 3, sequence: 5, before_or_after: 3,
}
LONGEST = 14  # Korean words


def sentence(rng):
    """One random (Korean, English) pair."""
    scene = Scene(rng, rng.random() < 0.4)
    korean, english = scene.weighted(SENTENCES)(scene)
    return korean, english[0].upper() + english[1:]


def distinct_pairs(rng, count):
    """`count` pairs, distinct on the Korean side, in random order."""
    meanings = {}
    while len(meanings) < count:
        korean, english = sentence(rng)
        if korean == SHOWCASE[0] or english == SHOWCASE[1] or len(korean.split()) > LONGEST:
            continue
        if meanings.setdefault(korean, english) != english:
            raise ValueError(f"{korean}: {meanings[korean]} or {english}?")
    pairs = list(meanings.items())
    rng.shuffle(pairs)
    return pairs


def split(pairs, count):
    """(training, test): neither side of a test pair occurs in training."""
    repeats = Counter(english for _, english in pairs)
    test = [pair for pair in pairs if repeats[pair[1]] == 1][:count]
    chosen = set(test)
    return [pair for pair in pairs if pair not in chosen], test


def write(path, pairs):
    """Write one `Korean<TAB>English` line a pair."""
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(f"{korean}\t{english}\n" for korean, english in pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", default="train.tsv")
    parser.add_argument("--test", default="test.tsv")
    parser.add_argument("--pairs", type=int, default=400_000, help="training pairs")
    parser.add_argument("--test-pairs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    pairs = distinct_pairs(random.Random(args.seed), args.pairs + args.test_pairs)
    train, test = split(pairs, args.test_pairs)
    write(args.train, train)
    write(args.test, test)


if __name__ == "__main__":
    main()
