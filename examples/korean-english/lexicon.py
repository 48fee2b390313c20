"""The words of the grammar: Korean on the left, English on the right."""
from dataclasses import dataclass

from english import Noun
from korean import Stem


@dataclass(frozen=True)
class Verb:
    """A verb on both sides. `light` marks noun+하다 verbs, which 안/못 split
    (공부 안 해); `honorific` replaces the stem for respected subjects."""

    stem: Stem
    en: str
    light: bool = False
    honorific: Stem = None


@dataclass(frozen=True)
class Person:
    """A subject or companion; `agreement` as in english.py."""

    ko: str
    en: str
    agreement: str = "3"
    respected: bool = False


@dataclass(frozen=True)
class Place:
    """A place; `to`, `at` are its English phrases, `ko_at` its locative."""

    ko: str
    en: str
    to: str
    at: str
    ko_at: str


@dataclass(frozen=True)
class Adjective:
    """An adjective on both sides."""

    stem: Stem
    en: str


def count(ko, en, plural=None, counter="개"):
    """A countable noun with its regular plural unless given."""
    return Noun(ko, en, plural or en + "s", counter)


def mass(ko, en, counter="", measure=""):
    """A mass noun, countable only by a measure word (`cup`, `glass`)."""
    measures = measure + ("es" if measure.endswith("s") else "s")
    return Noun(ko, en, None, counter, (measure, measures) if measure else ())


def plural_only(ko, en, counter, measure):
    """A noun like `shoes`, counted in pairs or bowls."""
    return Noun(ko, en, None, counter, (measure, measure + "s"), True)


def place(ko, en, preposition="at"):
    """A place reached with `to` and occupied with `preposition`."""
    return Place(ko, en, "to " + en, preposition + " " + en, ko + "에서")


def adjective(text, en, irregular=""):
    """An adjective from its stem text."""
    return Adjective(Stem(text, irregular), en)


def verb(text, en, irregular="", light=False, honorific=None):
    """A verb from its stem text."""
    return Verb(Stem(text, irregular), en, light, Stem(honorific) if honorific else None)


I = {False: Person("나", "I", "1"), True: Person("저", "I", "1")}
YOU = Person("너", "you", "2")
WE = {False: Person("우리", "we", "p"), True: Person("저희", "we", "p")}
NAMES = [Person(ko, en) for ko, en in [
    ("민수", "Minsu"), ("지민", "Jimin"), ("수진", "Sujin"), ("유나", "Yuna"),
    ("준호", "Junho"), ("서연", "Seoyeon"), ("현우", "Hyunwoo"), ("은영", "Eunyoung")]]
PEOPLE = NAMES + [
    Person("친구", "my friend"), Person("동생", "my younger sibling"),
    Person("여동생", "my younger sister"), Person("누나", "my older sister"),
    Person("형", "my older brother"), Person("엄마", "my mom"), Person("아빠", "my dad"),
    Person("할머니", "my grandmother", respected=True),
    Person("할아버지", "my grandfather", respected=True),
    Person("선생님", "the teacher", respected=True),
    Person("사장님", "the boss", respected=True),
    Person("의사", "the doctor"), Person("동료", "my coworker"), Person("그 사람", "that person"),
    Person("친구들", "my friends", "p"), Person("아이들", "the children", "p"),
    Person("학생들", "the students", "p"), Person("부모님", "my parents", "p", respected=True)]

HOME = Place("집", "home", "home", "at home", "집에서")
HERE = Place("여기", "here", "here", "here", "여기서")
THERE = Place("거기", "there", "there", "there", "거기서")
PLACES = [HOME] + [place(ko, "the " + en) for ko, en in [
    ("카페", "cafe"), ("도서관", "library"), ("시장", "market"), ("병원", "hospital"),
    ("회사", "office"), ("식당", "restaurant"), ("은행", "bank"), ("서점", "bookstore"),
    ("해변", "beach"), ("극장", "theater"), ("백화점", "department store"),
    ("수영장", "swimming pool"), ("박물관", "museum"), ("역", "station"), ("공항", "airport"),
    ("우체국", "post office"), ("편의점", "convenience store"), ("미술관", "art gallery"),
    ("호텔", "hotel"), ("경기장", "stadium"), ("동물원", "zoo"), ("빵집", "bakery"),
]] + [place("학교", "school"), place("공원", "the park", "in"), place("교회", "church"),
      place("서울", "Seoul", "in"), place("부산", "Busan", "in"), place("제주도", "Jeju", "in")]

BOWLS = [mass("밥", "rice", "그릇", "bowl"), mass("라면", "ramen", "그릇", "bowl"),
         plural_only("국수", "noodles", "그릇", "bowl"), mass("비빔밥", "bibimbap", "그릇", "bowl")]
BAKED = [mass("빵", "bread", "조각", "piece"), mass("피자", "pizza", "조각", "piece"),
         mass("케이크", "cake", "조각", "piece")]
GRILLED = [mass("고기", "meat"), mass("생선", "fish"), mass("치킨", "fried chicken")]
SNACKS = [mass("김밥", "gimbap", "줄", "roll"), mass("김치", "kimchi"), mass("떡볶이", "tteokbokki"),
          count("만두", "dumpling"), count("샌드위치", "sandwich", "sandwiches")]
PRODUCE = [mass("과일", "fruit"), count("사과", "apple"), count("바나나", "banana"),
           count("딸기", "strawberry", "strawberries"), count("계란", "egg"),
           count("토마토", "tomato", "tomatoes"), mass("아이스크림", "ice cream")]
FOODS = BOWLS + BAKED + GRILLED + SNACKS + PRODUCE
DRINKS = [mass("커피", "coffee", "잔", "cup"), mass("녹차", "green tea", "잔", "cup"),
          mass("물", "water", "잔", "glass"), mass("우유", "milk", "잔", "glass"),
          mass("주스", "juice", "병", "bottle"), mass("맥주", "beer", "병", "bottle"),
          mass("와인", "wine", "병", "bottle")]
READING = [count("책", "book", counter="권"), count("소설", "novel", counter="권"),
           count("잡지", "magazine", counter="권"), count("만화책", "comic book", counter="권"),
           count("신문", "newspaper", counter="부")]
WRITING = [count("편지", "letter", counter="통"), count("일기", "diary entry", "diary entries", "편"),
           count("시", "poem", counter="편")]
SHOWS = [count("영화", "movie", counter="편"), count("드라마", "drama", counter="편"),
         count("축구 경기", "soccer game", counter=""), count("공연", "show", counter="편"), mass("텔레비전", "television"),
         mass("뉴스", "the news")]
SOUNDS = [mass("음악", "music"), mass("라디오", "the radio"), count("강의", "lecture"),
          count("노래", "song", counter="곡"), count("이야기", "story", "stories")]
SONGS = [count("노래", "song", counter="곡")]
SUBJECTS = [mass("한국어", "Korean"), mass("영어", "English"), mass("일본어", "Japanese"),
            mass("수학", "math"), mass("역사", "history"), mass("과학", "science")]
SKILLS = [mass("피아노", "piano"), mass("태권도", "taekwondo"), mass("수영", "swimming")]
CLOTHES = [count("코트", "coat", counter="벌"), count("치마", "skirt", counter="벌"),
           count("셔츠", "shirt", counter="벌"), count("스웨터", "sweater", counter="벌"),
           plural_only("바지", "pants", "벌", "pair")]
THINGS = CLOTHES + [
    count("가방", "bag"), count("모자", "hat"), count("우산", "umbrella"),
    count("시계", "watch", "watches"),
    count("컴퓨터", "computer", counter="대"), count("휴대폰", "phone", counter="대"),
    count("카메라", "camera", counter="대"), count("자전거", "bicycle", counter="대"),
    count("의자", "chair"), count("책상", "desk"), count("꽃", "flower", counter="송이"),
    count("선물", "gift"), count("표", "ticket", counter="장"), count("지갑", "wallet"),
    count("열쇠", "key"), plural_only("신발", "shoes", "켤레", "pair")]
PHOTOS = [count("사진", "photo", counter="장")]
PICTURES = [count("그림", "picture", counter="장")]
ROOMS = [mass("방", "the room"), mass("부엌", "the kitchen"), mass("교실", "the classroom"),
         mass("화장실", "the bathroom")]
EXISTING = [
    count("사람", "person", "people", "명"), count("학생", "student", counter="명"),
    count("손님", "customer", counter="명"), count("관광객", "tourist", counter="명"),
    count("아이", "child", "children", "명"), count("외국인", "foreigner", counter="명"),
    count("고양이", "cat", counter="마리"), count("강아지", "puppy", "puppies", "마리"),
    count("새", "bird", counter="마리"), count("나무", "tree", counter="그루"),
    count("꽃", "flower", counter="송이"), count("차", "car", counter="대"),
    count("의자", "chair"), count("자리", "seat"), count("가게", "shop", counter="곳"),
    count("책", "book", counter="권"), mass("음식", "food"), mass("물", "water")]

FOOD_QUALITIES = [
    adjective("맛있", "delicious"), adjective("맵", "spicy", "ㅂ"), adjective("달", "sweet"),
    adjective("짜", "salty"), adjective("비싸", "expensive"), adjective("싸", "cheap"),
    adjective("뜨겁", "hot", "ㅂ"), adjective("차갑", "cold", "ㅂ")]
THING_QUALITIES = [
    adjective("비싸", "expensive"), adjective("싸", "cheap"), adjective("예쁘", "pretty"),
    adjective("크", "big"), adjective("작", "small"), adjective("가볍", "light", "ㅂ"),
    adjective("무겁", "heavy", "ㅂ"), adjective("멋있", "stylish"), adjective("편하", "comfortable")]
STUDY_QUALITIES = [
    adjective("재미있", "interesting"), adjective("지루하", "boring"),
    adjective("어렵", "difficult", "ㅂ"), adjective("쉽", "easy", "ㅂ")]
SHOW_QUALITIES = STUDY_QUALITIES[:2] + [
    adjective("길", "long"), adjective("짧", "short"), adjective("슬프", "sad")]
PLACE_QUALITIES = [
    adjective("조용하", "quiet"), adjective("시끄럽", "noisy", "ㅂ"), adjective("깨끗하", "clean"),
    adjective("더럽", "dirty", "ㅂ"), adjective("아름답", "beautiful", "ㅂ"),
    adjective("복잡하", "crowded"), adjective("넓", "spacious"), adjective("좁", "cramped"),
    adjective("크", "big"), adjective("멀", "far"), adjective("가깝", "close", "ㅂ")]
FEELINGS = [
    adjective("피곤하", "tired"), adjective("배고프", "hungry"), adjective("바쁘", "busy"),
    adjective("아프", "sick"), adjective("행복하", "happy"), adjective("졸리", "sleepy"),
    adjective("목마르", "thirsty", "르"), adjective("외롭", "lonely", "ㅂ")]
WEATHER = [
    adjective("춥", "cold", "ㅂ"), adjective("덥", "hot", "ㅂ"), adjective("따뜻하", "warm"),
    adjective("흐리", "cloudy"), adjective("시원하", "cool"), adjective("맑", "clear")]
FALLING = {"비": "rain", "눈": "snow"}

GRILL = verb("굽", "grill", "ㅂ")  # what `bake` becomes with meat and fish

# (verb, objects, qualities of the objects)
TRANSITIVE = [
    (verb("먹", "eat", honorific="드시"), FOODS, FOOD_QUALITIES),
    (verb("마시", "drink"), DRINKS, FOOD_QUALITIES[:1] + FOOD_QUALITIES[2:]),
    (verb("사", "buy"), FOODS + DRINKS, FOOD_QUALITIES),
    (verb("만들", "make"), BOWLS + BAKED + SNACKS, FOOD_QUALITIES),
    (verb("굽", "bake", "ㅂ"), BAKED, FOOD_QUALITIES),
    (GRILL, GRILLED, FOOD_QUALITIES),
    (verb("요리하", "cook", light=True), BOWLS + GRILLED, FOOD_QUALITIES),
    (verb("사", "buy"), THINGS + READING, THING_QUALITIES),
    (verb("팔", "sell"), THINGS, THING_QUALITIES),
    (verb("고르", "choose", "르"), THINGS, THING_QUALITIES),
    (verb("찾", "look for"), THINGS, THING_QUALITIES),
    (verb("잃어버리", "lose"), THINGS, THING_QUALITIES),
    (verb("나르", "carry", "르"), THINGS, THING_QUALITIES),
    (verb("빌리", "borrow"), READING + THINGS, THING_QUALITIES),
    (verb("입", "wear"), CLOTHES, THING_QUALITIES),
    (verb("읽", "read"), READING + WRITING, SHOW_QUALITIES),
    (verb("쓰", "write"), READING[:2] + WRITING, SHOW_QUALITIES),
    (verb("보", "watch"), SHOWS, SHOW_QUALITIES),
    (verb("듣", "listen to", "ㄷ"), SOUNDS, SHOW_QUALITIES),
    (verb("부르", "sing", "르"), SONGS, SHOW_QUALITIES),
    (verb("찍", "take"), PHOTOS, THING_QUALITIES),
    (verb("그리", "draw"), PICTURES, THING_QUALITIES),
    (verb("배우", "learn"), SUBJECTS + SKILLS, STUDY_QUALITIES),
    (verb("가르치", "teach"), SUBJECTS + SKILLS, STUDY_QUALITIES),
    (verb("공부하", "study", light=True), SUBJECTS, STUDY_QUALITIES),
    (verb("청소하", "clean", light=True), ROOMS, []),
]
ERRANDS = TRANSITIVE[:9]
SOCIAL = [verb("만나", "meet"), verb("기다리", "wait for"), verb("돕", "help", "ㅂ"),
          verb("찾", "look for"), verb("부르", "call", "르"), verb("초대하", "invite", light=True)]
INTRANSITIVE = [
    verb("자", "sleep", honorific="주무시"), verb("걷", "walk", "ㄷ"), verb("달리", "run"),
    verb("놀", "play"), verb("쉬", "rest"), verb("울", "cry"), verb("웃", "laugh"),
    verb("앉", "sit"), verb("일하", "work", light=True), verb("운동하", "exercise", light=True),
    verb("수영하", "swim", light=True), verb("노래하", "sing", light=True),
    verb("설거지하", "wash the dishes", light=True), verb("빨래하", "do the laundry", light=True),
    verb("쇼핑하", "shop", light=True), verb("산책하", "take a walk", light=True)]
DATIVE = [verb("주", "give"), verb("보내", "send"), verb("보여주", "show")]
GO, COME = verb("가", "go"), verb("오", "come")
STOP_BY, ARRIVE = verb("들르", "stop by"), verb("도착하", "arrive", light=True)
STAY = verb("있", "be", honorific="계시")

RIDES = [("버스", "bus"), ("지하철", "subway"), ("기차", "train"), ("택시", "taxi"), ("차", "car"),
         ("자전거", "bicycle")]
NUMBERS = [("한", "one"), ("두", "two"), ("세", "three"), ("네", "four"), ("다섯", "five"),
           ("여섯", "six"), ("일곱", "seven"), ("여덟", "eight"), ("아홉", "nine"), ("열", "ten"),
           ("열한", "eleven"), ("열두", "twelve")]
SINO_NUMBERS = [("이", "two"), ("삼", "three"), ("사", "four"), ("오", "five"), ("육", "six")]
DAYS = [("월요일", "Monday"), ("화요일", "Tuesday"), ("수요일", "Wednesday"), ("목요일", "Thursday"),
        ("금요일", "Friday"), ("토요일", "Saturday"), ("일요일", "Sunday")]
DEGREES = [("아주", "very"), ("정말", "really"), ("진짜", "really"), ("너무", "too"), ("조금", "a little")]
CROWDS = [("너무", "too many", "too much"), ("정말", "so many", "so much"), ("진짜", "so many", "so much")]
FREQUENCIES = [("자주", "often"), ("항상", "always"), ("가끔", "sometimes"), ("보통", "usually")]

# Times by the tenses they go with: (Korean, English, may take 에).
TIMES = {
    "past": [("어제", "yesterday", False), ("그저께", "the day before yesterday", False),
             ("아까", "earlier", False), ("지난주", "last week", True), ("지난달", "last month", True),
             ("작년", "last year", True), ("어젯밤", "last night", True),
             ("지난 주말", "last weekend", True), ("어제 아침", "yesterday morning", True),
             ("어제 오후", "yesterday afternoon", True), ("어제 저녁", "yesterday evening", True)],
    "future": [("내일", "tomorrow", False), ("모레", "the day after tomorrow", False),
               ("이따가", "later", False), ("다음 주", "next week", True),
               ("다음 달", "next month", True), ("내년", "next year", True),
               ("이번 주말", "this weekend", True), ("내일 아침", "tomorrow morning", True),
               ("내일 오후", "tomorrow afternoon", True), ("내일 저녁", "tomorrow evening", True)],
    "present": [("매일", "every day", False), ("요즘", "these days", False),
                ("아침마다", "every morning", False), ("저녁마다", "every evening", False),
                ("주말마다", "every weekend", False)]
    + [(ko + "마다", "every " + en, False) for ko, en in DAYS],
    "now": [("지금", "now", False)],
    "any": [("오늘", "today", False), ("오늘 아침", "this morning", True),
            ("오늘 오후", "this afternoon", True), ("오늘 저녁", "this evening", True),
            ("오늘 밤", "tonight", True)],
}
