"""Korean inflection: Hangul syllable arithmetic, particles and verb endings.

Stems are dictionary forms without the final `다`. Contraction (가+았 -> 갔),
the `ㅡ`-deleting and `ㄹ`-dropping stems are recognised from the spelling;
the ㅂ, ㄷ and 르 irregulars are lexical, so a stem carries its class.
"""
from dataclasses import dataclass

VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
TAILS = " ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"
FIRST_SYLLABLE = 0xAC00


def split(syllable):
    """Return (lead index, vowel, tail) of a Hangul syllable; tail ' ' is none."""
    code = ord(syllable) - FIRST_SYLLABLE
    return code // 588, VOWELS[code % 588 // 28], TAILS[code % 28]


def join(lead, vowel, tail=" "):
    """Inverse of split."""
    return chr(FIRST_SYLLABLE + lead * 588 + VOWELS.index(vowel) * 28 + TAILS.index(tail))


def tail_of(word):
    """Final consonant of the last syllable, ' ' if it is open."""
    return split(word[-1])[2]


def set_tail(word, tail):
    """Replace the final consonant of the last syllable."""
    lead, vowel, _ = split(word[-1])
    return word[:-1] + join(lead, vowel, tail)


def particle(word, closed, open_):
    """Append the particle form that the word's last sound asks for."""
    return word + (open_ if tail_of(word) == " " else closed)


def by_means(word):
    """Instrumental (으)로: a final ㄹ counts as open."""
    return word + ("로" if tail_of(word) in " ㄹ" else "으로")


@dataclass(frozen=True)
class Stem:
    """A verb or adjective stem and its irregular class ('', 'ㅂ', 'ㄷ', '르')."""

    text: str
    irregular: str = ""

    def infinitive(self):
        """The 아/어 form, contracted: 가, 와, 먹어, 해, 추워, 들어, 불러, 써."""
        text, body = self.text, self.text[:-1]
        lead, vowel, tail = split(text[-1])
        if text.endswith("하"):
            return body + "해"
        if self.irregular == "ㅂ":
            return set_tail(text, " ") + ("와" if text == "돕" else "워")
        if self.irregular == "ㄷ":
            return set_tail(text, "ㄹ") + ("아" if vowel in "ㅏㅗ" else "어")
        if self.irregular == "르":
            return set_tail(body, "ㄹ") + ("라" if split(body[-1])[1] in "ㅏㅗ" else "러")
        if tail != " ":
            return text + ("아" if vowel in "ㅏㅗㅑ" else "어")
        if vowel == "ㅡ":
            bright = body and split(body[-1])[1] in "ㅏㅗ"
            return body + join(lead, "ㅏ" if bright else "ㅓ")
        contracted = {"ㅗ": "ㅘ", "ㅜ": "ㅝ", "ㅣ": "ㅕ", "ㅚ": "ㅙ"}
        if vowel in contracted:
            return body + join(lead, contracted[vowel])
        return text if vowel in "ㅏㅓㅐㅔㅕ" else text + "어"

    def past(self):
        """The past base: the infinitive closed with ㅆ (갔, 먹었, 했)."""
        return set_tail(self.infinitive(), "ㅆ")

    def open_base(self):
        """The base before vowel-like endings: 가, 먹으, 추우, 들으; 만드 (ㄹ drops)."""
        tail = tail_of(self.text)
        if self.irregular == "ㅂ":
            return set_tail(self.text, " ") + "우"
        if self.irregular == "ㄷ":
            return set_tail(self.text, "ㄹ") + "으"
        if tail in " ㄹ":
            return set_tail(self.text, " ")
        return self.text + "으"

    def closed_by(self, consonant):
        """Adnominal forms: closed_by('ㄹ') -> 갈, 먹을, 만들; closed_by('ㄴ') -> 간, 만든."""
        return set_tail(self.open_base(), consonant)

    def joined(self, ending):
        """(으)면, (으)러, (으)려고: a stem-final ㄹ stays and takes no 으."""
        if tail_of(self.text) == "ㄹ":
            return self.text + ending
        return self.open_base() + ending

    def before_n(self):
        """The base before endings in ㄴ (니, 나요, 는): a stem-final ㄹ drops."""
        return set_tail(self.text, " ") if tail_of(self.text) == "ㄹ" else self.text

    def honorific(self):
        """The stem with the subject-honorific (으)시."""
        return Stem(self.open_base() + "시")


def with_auxiliary(stem, auxiliary):
    """The compound stem of a periphrastic form; no auxiliary leaves the stem as it is."""
    forms = {
        "": lambda: stem,
        "progressive": lambda: Stem(stem.text + "고 있"),
        "want": lambda: Stem(stem.text + "고 싶"),
        "can": lambda: Stem(stem.closed_by("ㄹ") + " 수 있"),
        "must": lambda: Stem(stem.infinitive() + "야 하"),
        "intend": lambda: Stem(stem.joined("려고 하")),
    }
    return forms[auxiliary]()


def negated(stem, ability):
    """The long negation 지 않다 (지 못하다 for inability); 수 있다 becomes 수 없다."""
    if stem.text.endswith(" 수 있"):
        return Stem(stem.text[:-1] + "없")
    return Stem(stem.text + ("지 못하" if ability else "지 않"))


def statement(stem, form, polite):
    """Conjugate a stem as a statement, proposal or prohibition."""
    yo = "요" if polite else ""
    if form == "present" and polite and stem.text.endswith("시"):
        return stem.text[:-1] + "세요"
    forms = {
        "present": lambda: stem.infinitive() + yo,
        "past": lambda: stem.past() + "어" + yo,
        "past_perfect": lambda: stem.past() + "었어" + yo,
        "future": lambda: stem.closed_by("ㄹ") + (" 거예요" if polite else " 거야"),
        "promise": lambda: stem.closed_by("ㄹ") + "게" + yo,
        "retrospective": lambda: stem.text + ("더라고요" if polite else "더라"),
        "suggest": lambda: stem.text + "자",
        "forbid": lambda: stem.text + ("지 마세요" if polite else "지 마"),
    }
    return forms[form]()


def question(stem, form, polite):
    """Conjugate a stem with an interrogative ending (니 / 나요)."""
    if form == "future":
        return stem.closed_by("ㄹ") + (" 건가요" if polite else " 거니")
    base = stem.past() if form == "past" else stem.before_n()
    return base + ("나요" if polite else "니")


def contrasted(stem, form):
    """The stem with 지만, past or present."""
    return (stem.past() if form == "past" else stem.text) + "지만"


def modifier(stem):
    """An adjective before its noun: 비싼, 매운, 긴, 맛있는."""
    return stem.text + "는" if stem.text[-1] in "있없" else stem.closed_by("ㄴ")
