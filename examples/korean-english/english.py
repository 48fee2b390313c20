"""English inflection: verbs with their auxiliaries, articles, plurals.

An agreement is one of '1' (I), '2' (you), '3' (she, it) and 'p' (plural).
"""
from dataclasses import dataclass

IRREGULAR_PAST = {
    "go": "went", "come": "came", "eat": "ate", "drink": "drank", "buy": "bought",
    "read": "read", "write": "wrote", "make": "made", "meet": "met", "teach": "taught",
    "sing": "sang", "choose": "chose", "take": "took", "sell": "sold", "lose": "lost",
    "wear": "wore", "sleep": "slept", "run": "ran", "give": "gave", "send": "sent",
    "swim": "swam", "draw": "drew", "sit": "sat", "do": "did", "have": "had",
}
DOUBLED = {"run": "running", "swim": "swimming", "sit": "sitting",
           "stop": "stopping", "shop": "shopping"}
MODALS = {"future": "will", "promise": "will", "can": "can", "could": "could"}
CHAINS = {"want": ("want", "present"), "wanted": ("want", "past"),
          "must": ("have", "present"), "had_to": ("have", "past")}
PAST_CHAINS = ("wanted", "had_to")
PAST_TENSES = ("past", "past_perfect", "retrospective")


def edit_first(phrase, change):
    """Apply `change` to the first word of a phrasal verb (`listen to`)."""
    head, _, rest = phrase.partition(" ")
    return change(head) + (" " + rest if rest else "")


def past_word(word):
    """Simple past of one word."""
    if word in IRREGULAR_PAST:
        return IRREGULAR_PAST[word]
    if word in DOUBLED:
        return DOUBLED[word][:-3] + "ed"
    if word.endswith("e"):
        return word + "d"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ied"
    return word + "ed"


def third_word(word):
    """Third person singular present of one word."""
    if word == "have":
        return "has"
    if word.endswith(("s", "sh", "ch", "x", "o")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def gerund_word(word):
    """The -ing form of one word."""
    if word in DOUBLED:
        return DOUBLED[word]
    if word.endswith("e") and not word.endswith("ee") and word != "be":
        return word[:-1] + "ing"
    return word + "ing"


def gerund(phrase):
    """The -ing form of a (phrasal) verb."""
    return edit_first(phrase, gerund_word)


def be(agreement, past):
    """A finite form of `be`."""
    if past:
        return "was" if agreement in "13" else "were"
    return {"1": "am", "2": "are", "3": "is", "p": "are"}[agreement]


def do(agreement, past):
    """The auxiliary `do`."""
    if past:
        return "did"
    return "does" if agreement == "3" else "do"


def operator(verb, tense, agreement):
    """Split a verb group into (auxiliary or '', rest); the rest is uninflected."""
    if tense in MODALS:
        return MODALS[tense], verb
    if tense in ("progressive", "past_progressive"):
        return be(agreement, tense == "past_progressive"), gerund(verb)
    if tense == "intend":
        return be(agreement, False), "going to " + verb
    if tense in CHAINS:
        head, head_tense = CHAINS[tense]
        return operator(f"{head} to {verb}", head_tense, agreement)
    if verb == "be":
        return be(agreement, tense in PAST_TENSES), ""
    return "", verb


def affirmed(verb, tense, agreement):
    """The finite verb group of a positive statement."""
    auxiliary, rest = operator(verb, tense, agreement)
    if auxiliary:
        return words(auxiliary, rest)
    if tense in PAST_TENSES + PAST_CHAINS:
        return edit_first(rest, past_word)
    return edit_first(rest, third_word) if agreement == "3" else rest


def denied(verb, tense, agreement):
    """The finite verb group of a negative statement."""
    auxiliary, rest = operator(verb, tense, agreement)
    if auxiliary == "can":
        return words("cannot", rest)
    auxiliary = auxiliary or do(agreement, tense in PAST_TENSES + PAST_CHAINS)
    return words(auxiliary, "not", rest)


def asked(verb, tense, agreement, subject):
    """Subject and verb group of a question: `did you go`, `is Minsu sleeping`."""
    auxiliary, rest = operator(verb, tense, agreement)
    auxiliary = auxiliary or do(agreement, tense in PAST_TENSES + PAST_CHAINS)
    return words(auxiliary, subject, rest)


def words(*parts):
    """Join the non-empty parts with single blanks."""
    return " ".join(part for part in parts if part)


def article(phrase):
    """Prefix `a` or `an`."""
    return ("an " if phrase[0] in "aeiou" else "a ") + phrase


@dataclass(frozen=True)
class Noun:
    """A noun on both sides; `plural` is None where `en` takes no article.

    `counter` is the Korean counter; `measure` the English (singular, plural)
    measure words, as in `two cups of coffee`; `plural_only` marks `shoes`.
    """

    ko: str
    en: str
    plural: str = None
    counter: str = ""
    measure: tuple = ()
    plural_only: bool = False

    def indefinite(self, adjective=""):
        """`a book`, `an old book`, `cold water`, `the boring news`."""
        if self.en.startswith("the "):
            return words("the", adjective, self.en.removeprefix("the "))
        phrase = words(adjective, self.en)
        return article(phrase) if self.plural else phrase

    def determined(self, word):
        """`this book`, `these shoes`; the word replaces the noun's own `the`."""
        if self.plural_only:
            word = {"this": "these", "that": "those"}.get(word, word)
        return word + " " + self.en.removeprefix("the ")

    def counted(self, number):
        """`one book`, `two books`, `two cups of coffee`; number is a (word, is_one) pair."""
        word, is_one = number
        if self.plural:
            return words(word, self.en if is_one else self.plural)
        return words(word, self.measure[0 if is_one else 1], "of", self.en)
