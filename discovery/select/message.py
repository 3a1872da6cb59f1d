"""Reading of a message: spelling, context, clauses, and English glosses."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from catalog import lexical
from discovery.select import _glossary
from discovery.select._glossary import add_english, is_foreign, tasks_in_words_of_tools

# Correction of typing errors in common words of requests: "emial", "wether", "remnd".
#
# The words are a fixed list, never the catalogue's: a corrected word would reveal what is hidden.

_MISSPELT_WORD = re.compile(r"(?<![\w@#./:'-])[a-z]{5,}(?![\w@./:'-])")
# "reminders" is not a misspelt "reminder".
_ENDINGS = ("s", "d")
_REQUESTS = """
account accounts address agenda airport alarm analyze analyse anniversary announce answer
appointment appointments article articles assistant attachment attachments available background
balance birthday board bookmark booking browser budget calculate calculator calendar camera cancel
change channel check colleague comment company compare complete conference contact contacts
contract convert country create currency customer daily database deadline delete describe dentist
details dictionary directory discount discord doctor document documents download draft email emails
error event events every exchange expense expenses explain export family favourite favorite
finished flight flights folder folders forecast forget forward friday function generate grocery
headline headlines history holiday hotel hotels image images insurance interest invitation invite
invoice invoices language latest letter library location meeting meetings member members memory
message messages minutes monday money month monthly morning mortgage movie movies music newsletter
notification notifications number office online option options order orders overdue overview
package parcel password payment percent percentage phone photo photos picture pictures playlist
please policy postpone presentation price prices priority product products profile program project
projects purchase question questions receipt receipts recipe recipes recommend recommendation
record recording redirect refund register reminder remember remind rename report reports request
reschedule reservation reserve restaurant restaurants result results review saturday schedule
script search security select server service settings share shopping slack spreadsheet status stock
store subject subscription summarize summarise summary sunday telegram temperature thursday ticket
tickets timezone today tomorrow tonight traffic train transcribe transfer translate translation
transport travel tuesday unread update upload vacation verify video videos voice wednesday weather
website weekend weekly whatsapp write yesterday
"""
# Common words one edit away from a word above.
_LOOKALIKES = """
airports alarms analyses analyst analyzed analyzes announced announcer announces answers archers
archery assistants backgrounds balanced beard boards booming browse budge budgets calculated
cameras cancer chance chang changed changes channels charge checks cheek chick chuck colleagues
comments compared compares compete completed completes concert conferences contrast convent
converts county covert crate created creates crete customers dairy daisy databases deleted
described describes detail director directors doctors downloads drafts drift emery errors exchanged
exchanger exchanges expanse expert explains exports favorites favourites feather fight fights
finishes folded forge forged forgot forwards fridays fright functions generated generates holidays
hostel interests invitations invited invites languages lather latter leather lester letters litter
locations massage massages melting minute moaning mondays monkey monte months mornings mourning
mouth moves musica musik numbers officer offices older packaged packages parcels payments phones
pleas pleased police postponed presentations prick pride prime prince princes prize prizes produce
produces profiles programs prone protect protects proto purchased purchases recommendations
recommends recordings records registers remainder remembers reminded reminds renamed requests
reservations reserved reserves resort resorts reviews saturdays scare scheduled schedules score
scripts searcher selects serve served servers serves serviced services setting shack shade shake
shale shame shane shape shared shares shark sharp sharpe shave shipping shire shock slacks slick
smack snack spare states stats statue statues stick stocks stoke stole stone stopping stored stores
storey storm story stove stuck subjects summaries summarized sundays swore temperatures tether
ticked ticker trail trains trait transcribed transfers translated translates translations
transports travels twain undead updated updates verity voiced voices weakly websites weekends
whether white wither writer writes wrote
"""
_KNOWN = frozenset(_REQUESTS.split())
# Longer words cannot match; checking them would take quadratic time.
_LONGEST = max(map(len, _KNOWN)) + 1
_OTHERS = frozenset(_LOOKALIKES.split())


def correct(text: str) -> str:
    """Correct the text's misspelt words."""
    return _MISSPELT_WORD.sub(
        lambda match: match[0] if len(match[0]) > _LONGEST else _correct_word(match[0]), text
    )


@lru_cache(maxsize=4096)
def _correct_word(word: str) -> str:
    if word in _KNOWN or word in _OTHERS:
        return word
    near = {
        candidate
        for key in (word, *_deletions(word))
        for candidate in _deletion_index().get(key, ())
    }
    corrections = [candidate for candidate in near if _is_one_edit_apart(word, candidate)]
    return corrections[0] if len(corrections) == 1 else word


def _is_one_edit_apart(word: str, candidate: str) -> bool:
    """Return True for one inserted, missing, wrong or swapped letter after a correct first one."""
    if word[0] != candidate[0]:
        return False
    if len(word) < len(candidate):
        return word in _deletions(candidate)
    if len(word) > len(candidate):
        return candidate in _deletions(word) and not word.endswith(_ENDINGS)
    wrong = [place for place in range(len(word)) if word[place] != candidate[place]]
    if len(wrong) == 2 and wrong[1] == wrong[0] + 1:
        first, second = wrong
        return word[first] == candidate[second] and word[second] == candidate[first]
    return len(wrong) == 1


def _deletions(word: str) -> Iterator[str]:
    return (word[:place] + word[place + 1 :] for place in range(len(word)))


@lru_cache(maxsize=1)
def _deletion_index() -> dict[str, tuple[str, ...]]:
    """Index the known words by themselves and with each letter removed."""
    index: dict[str, tuple[str, ...]] = {}
    for word in sorted(_KNOWN):
        for key in {word, *_deletions(word)}:
            index[key] = (*index.get(key, ()), word)
    return index


# Detection of vague messages: those that point at something which no word of theirs names.
#
# "Can you look into it?" may mean anything. A message is vague if it has a pointer ("it", "the
# thing") and otherwise only words that fit every task. Independent of the catalogue.

MOST_VAGUE_WORDS = 12  # longer messages name something

_VAGUE_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_POINTERS = """
it this that these those them thing things thingy stuff one ones something same usual there
das dies diese dieser dieses es ihn sie darum damit davon ding dings sache sachen etwas gleiche
selbe übliche ça cela ceci truc trucs chose choses même
eso esto ello aquello cosa cosas mismo mirarlo verlo hacerlo revisarlo isso isto aquilo coisa coisas
mesmo questo quello cosa cose stesso dat dit het daar ding dingen zaak hetzelfde
tym tego rzecz rzeczy samo
"""
# Words that fit every task.
_ANYTHING = """
a an the is are was were be been do does did done doing can could would will should shall may
might must have has had need needs want wants like please kindly just also too now then again
still already yet before earlier later soon recently ago i you we they he she me us my your our
his her who what which how when where why if so and or but not no to of in on at for with from
about into up out over by as off last next previous other another past few some any all more
week weeks month months year time yesterday today tomorrow morning night monday friday
look looking check see take care handle deal sort figure make get let go try help know think
remember mean mentioned said told talked talk discussed spoke happen happened finish continue
kannst könntest würdest bitte du dir dich mir mich ich wir uns mal nochmal noch wieder schon
jetzt die der dem den ein eine einen von vom letzte letzten letzter letztes nächste woche
monat jahr gestern heute morgen was wie wann mach mache machen machst gemacht getan schau schauen
ansehen anschauen kümmern kümmere kümmerst erledige erledigen hilf helfen weißt erinnerst
haben hatten hast habe besprochen gesagt über an um zu mit auf
peux pourrais tu vous nous je on me te de du des un une les s'il plaît te moi faire fait fais
regarde regarder occupe occuper t'en voir semaine dernière dernier mois hier aujourd'hui
encore avons avait dit parlé qu'on que est-ce au sujet peux-tu
puedes podrías tú yo me te nos se por favor el los las un una de del que hacer hiciste hicimos
hecho haz mira mirar ver revisar encárgate semana pasada pasado mes ayer hoy otra vez dijimos
pode podes poderia você eu nos o a os as um uma do da que fazer fez fizemos faz vê ver olhar
semana passada passado mês ontem hoje novo outra vez dissemos cuidar trata
puoi potresti tu io mi ti si il i gli un una di del che fare fatto facciamo fai guarda guardare
vedere occuparti occupati settimana scorsa scorso mese ieri oggi ancora detto abbiamo
kun kunt je jij u ik we wij mij me de een van die wat doen deed deden gedaan doe kijk kijken naar
regel regelen week vorige maand gisteren vandaag weer nog even eens hebben had gezegd over
możesz możecie proszę ty ja my mi nam się z w na o co zrobić zrobiliśmy zrób zobacz zająć
tydzień tygodniu zeszłym temu wczoraj dziś znowu jeszcze mówiliśmy sprawdzić
"""
_POINTER_WORDS = frozenset(_POINTERS.split())
_WORDS_OF_ANYTHING = _POINTER_WORDS | frozenset(_ANYTHING.split())


def is_vague(message: str) -> bool:
    """Return True if the message points at something and names nothing."""
    words = [word.replace("\u2019", "'") for word in _VAGUE_WORD.findall(message.lower())]
    if not 1 < len(words) <= MOST_VAGUE_WORDS or _DIGIT.search(message):
        return False
    empty_words = _WORDS_OF_ANYTHING | _glossary.function_words().keys()
    return _POINTER_WORDS.intersection(words) != set() and all(
        word in empty_words for word in words
    )


_DIGIT = re.compile(r"\d")


# Splitting of messages with several tasks, so that each finds its own tools.

MOST_CLAUSES = 5
LONGEST_MESSAGE = 2_000  # characters that are read
# A clause with fewer words is about the message ("can you help me with that") and no task. A clause
# that starts with a verb needs fewer: "mail the team".
FEWEST_WORDS, FEWEST_WORDS_AFTER_VERB = 3, 2

# After a full stop, a question mark and so on; Chinese and Japanese ones need no space.
_SENTENCE_END = re.compile(r"(?<=[.!?;\u2026])\s+|[\u3002\uff01\uff1f\uff1b]|\n+")
# Possessive quantifiers: a run of blanks is scanned once.
_CONJUNCTION = re.compile(
    r"(?:,\s++|(?<!\s)\s++)(?:and then|and also|and|then|also|plus|after that|afterwards|finally"
    r"|but|und dann|und|dann|danach|et ensuite|et puis|et|puis|y luego|y|luego|e depois|e poi|e|poi"
    r"|en dan|en|daarna)\s++|,\s++",
    re.IGNORECASE,
)
_FIRST_WORD = re.compile(r"[^\W\d_]+")
# Verbs that begin requests. Before one of these a comma or "and" separates tasks; otherwise it
# lists things ("music and films"), and a cut would lose meaning.
_STARTS_OF_TASKS = """
add adjust alert analyse analyze answer apply archive arrange ask assess assign attach book
build buy calculate call cancel change check choose clean clear close collect comment compare
compile compose compress compute confirm connect convert copy count create cut debug decide
delete deliver deploy describe design detect determine develop disable display divide download
draft draw edit email enable encrypt ensure estimate evaluate examine execute explain explore
export extract fetch fill filter find fix follow forecast format forward generate get give help
identify implement import inform insert inspect install invite invoke join launch let list
listen load locate lock log look lower mail make manage map mark measure merge message monitor
move mute notify obtain offer open optimise optimize order organise organize pause pay perform
pick pin plan play plot post predict prepare print process produce provide publish pull
purchase push put query raise rank read rebook recommend record reduce refund register remind
remove rename render rent replace reply report request reschedule research reserve reset resize
restart restore retrieve return review rotate run save scan schedule scrape search see select
sell send set share ship show sign simulate sort start stop store submit subscribe suggest
summarise summarize switch sync take tell test text track train transcribe transfer translate
turn update upgrade upload use validate verify view visualise visualize watch write
can could would will please what when where which who how why
"""
_VERBS = frozenset(_STARTS_OF_TASKS.split())


def split(message: str) -> list[str]:
    """Return the message's clauses, at most five; empty if it has only one."""
    tasks = [
        clause
        for sentence in _SENTENCE_END.split(message[:LONGEST_MESSAGE])
        for clause in _tasks(sentence)
    ]
    clauses = [clause for clause in dict.fromkeys(tasks) if _is_task(clause)]
    return _merge_shortest(clauses) if len(clauses) > 1 else []


def _tasks(sentence: str) -> list[str]:
    """Cut the sentence before each conjunction that a verb follows."""
    starts, ends = [0], []
    for border in _CONJUNCTION.finditer(sentence):
        if _starts_with_verb(sentence, border.end()):
            ends.append(border.start())
            starts.append(border.end())
    parts = (sentence[a:b] for a, b in zip(starts, [*ends, len(sentence)], strict=True))
    return [part.strip(" ,.;:!?") for part in parts]


def _starts_with_verb(text: str, at: int = 0) -> bool:
    first = _FIRST_WORD.match(text, at)
    return first is not None and (first[0].lower() in _VERBS or _glossary.is_verb(first[0]))


def _is_task(clause: str) -> bool:
    needed = FEWEST_WORDS_AFTER_VERB if _starts_with_verb(clause) else FEWEST_WORDS
    return len(lexical.query_vector(clause)) >= needed  # which is looked up again later


def _merge_shortest(clauses: list[str]) -> list[str]:
    """Merge neighbours, shortest first, until there are few enough."""
    clauses = list(clauses)
    while len(clauses) > MOST_CLAUSES:
        pairs = range(len(clauses) - 1)
        at = min(pairs, key=lambda index: len(clauses[index]) + len(clauses[index + 1]))
        clauses[at : at + 2] = [f"{clauses[at]}. {clauses[at + 1]}"]
    return clauses


# Follow-up messages: those that make sense only after an earlier message.

# A message with more words than this stands by itself.
MOST_WORDS, MOST_WORDS_WITHOUT_SIGN = 12, 3
LONGEST_TURN = 500  # characters that are read of an earlier message

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
# Openings of follow-ups: "and to Anna", "what about tomorrow", "no, the other one".
_GOES_ON = re.compile(
    r"""\W*+(?:and|or|but|also|plus|then|instead|actually|no|yes|ok|okay|same|again|another|now
    |what\ about|how\ about|what\ if|make\ (?:it|that|them)|go\ ahead|do\ (?:it|that)
    |und|oder|aber|auch|nochmal|jetzt|ja|nein|et|ou|mais|aussi|oui|non|y|o|pero|también|sí
    |e|mas|também|sim|não|ma|anche|sì|en|of|maar|ook|nee)\b
    |\W*+(?:а|и|но|или|да|нет|тоже|ещё)\b
    |\W*+(?:那|还有|それ|その|じゃあ|では)""",  # noqa: RUF001
    re.IGNORECASE | re.VERBOSE,
)
# References to something outside of the message: "send it", "that one too", "the other file".
_POINTS_BACK = re.compile(
    r"""\b(?:it|them|him|her|those|this\ one|both|again|also|instead|as\ well|else
    |the\ (?:other|first|second|third|last|same)|(?:new|old|earli|lat|cheap)er
    |(?:that|too)(?=\W*$|\ (?:one|too|instead|again|now|please)\b)
    |nochmal|stattdessen|auch|den\ anderen|aussi|encore|también|otra\ vez|também|outra\ vez
    |anche|ancora|ook|nog)\b
    |\b(?:его|её|их|тоже)\b
    |它|那个|それ|その""",  # noqa: RUF001
    re.IGNORECASE | re.VERBOSE,
)
# "It" that stands for nothing: "what time is it", "is it going to rain", "it's 3 pm".
_EMPTY_IT = re.compile(
    r"""\b(?:(?:what|how)\ \w+\ (?:is|was|will)\ it
    |(?:it\ is|it['\u2019]?s|is\ it)(?=\ (?:\d|(?:going\ to\ |very\ |really\ |too\ )?
    (?:rain|snow|storm|freez|warm|hot|cold|cool|sunny|cloudy|windy|dark)))
    )""",
    re.IGNORECASE | re.VERBOSE,
)
# A character of a script that sets no blanks between words; two are about a word.
_UNSPACED = re.compile(f"[{lexical.WITHOUT_BLANKS}]")


def in_context(message: str, history: Sequence[str]) -> str:
    """Return the message after the last one of `history` if it is a follow-up, otherwise ""."""
    earlier = next((turn.strip() for turn in reversed(history) if turn.strip()), "")
    if not earlier or not _is_follow_up(message):
        return ""
    return f"{earlier[:LONGEST_TURN]} {message}"


def _is_follow_up(message: str) -> bool:
    if not message.strip():  # a picture alone says what is done with it in the message before
        return True
    words = _WORD.findall(message.lower())
    count = sum(max(1, len(_UNSPACED.findall(word)) // 2) for word in words)
    if not words or count > MOST_WORDS:
        return False
    asks = words[0] in _glossary.english_verbs() or _glossary.is_verb(words[0])
    if count <= MOST_WORDS_WITHOUT_SIGN and not asks:
        return True
    points_back = _POINTS_BACK.search(_EMPTY_IT.sub("", message))
    return bool(_GOES_ON.match(message) or points_back) or is_vague(message)


@dataclass(frozen=True, slots=True)
class MessageTexts:
    """The texts to embed and look up: the whole message, then each clause.

    Texts before index `own` contain an earlier message. `foreign` are the texts as written, without
    English words added, if the message is not English.
    """

    texts: tuple[str, ...]
    own: int = 0
    foreign: tuple[str, ...] = ()


def read(message: str, history: Sequence[str] = (), steps: Sequence[str] = ()) -> MessageTexts:
    """Read a message; its history is used only if it is a follow-up. `steps` are its clauses, where
    somebody knows them better."""
    foreign = is_foreign(message)
    if not foreign:
        message = correct(message)
    texts: tuple[str, ...] = (message, *(steps or split(message)))
    context = in_context(message, history)
    if context:
        texts = (context, *(texts[1:] or texts))
    tasks = () if foreign else tasks_in_words_of_tools(message)
    return MessageTexts(
        (*add_english(texts), *tasks), own=int(bool(context)), foreign=texts if foreign else ()
    )


# Reading of long messages: both ends, and the part between them that asks most.
# People paste documents, logs and mails, and write what they want before or after them. A third
# of what is read is the beginning, a third the end, and a third the densest part of the rest: the
# one with the most words that descriptions of tools use, each counted once, rare ones more.

# More dilutes what is asked. Of 300 messages of MetaTool after (before) 12,000 characters of a
# manual, recall@5 was 76 (76) at 600 characters, 60 (74) at 1,000, 42 (66) at 2,000; alone, 87.
READ_OF_LONG = 600  # characters
MOST_WINDOWS = 512  # that are compared; they lie apart in very long messages
_GAP = "\n…\n"  # ends a sentence for whoever splits the message into clauses


def shorten(message: str, most: int) -> str:
    """Return the message, or what is read of one with over `most` characters.

    What Postgres or a tokenizer rejects is no part of it: lone surrogates and NUL.
    """
    message = message.encode(errors="replace").decode().replace("\x00", " ")
    if len(message) <= most:
        return message
    part = (min(most, READ_OF_LONG) - 2 * len(_GAP)) // 3
    beginning, end = _until_word(message[:part]), _from_word(message[-part:])
    text = message[part:-part]
    step = max(part // 2, len(text) // MOST_WINDOWS)
    windows = (text[start : start + part] for start in range(0, len(text), step))
    densest = _from_word(
        _until_word(
            max(windows, key=lambda window: sum(lexical.weights_among_tools(window).values()))
        )
    )
    return _GAP.join((beginning, densest, end))


def _until_word(text: str) -> str:
    """Drop the word that a cut at the end has broken, if the text has blanks at all."""
    words = text.rsplit(maxsplit=1)
    return words[0] if len(words) > 1 else text


def _from_word(text: str) -> str:
    """Drop the word that a cut at the beginning has broken, if the text has blanks at all."""
    words = text.split(maxsplit=1)
    return words[1] if len(words) > 1 else text
