"""Splitting of messages with several tasks, so that each finds its own tools."""

import re

from catalog import lexical
from discovery.select import _glossary

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
    tasks = [clause for sentence in _sentences(message) for clause in _tasks(sentence)]
    clauses = [clause for clause in dict.fromkeys(tasks) if _is_task(clause)]
    return _merge_shortest(clauses) if len(clauses) > 1 else []


def _sentences(message: str) -> list[str]:
    return _SENTENCE_END.split(message[:LONGEST_MESSAGE])


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
    return len(set(lexical.words(clause))) >= needed


def _merge_shortest(clauses: list[str]) -> list[str]:
    """Merge neighbours, shortest first, until there are few enough."""
    clauses = list(clauses)
    while len(clauses) > MOST_CLAUSES:
        pairs = range(len(clauses) - 1)
        at = min(pairs, key=lambda index: len(clauses[index]) + len(clauses[index + 1]))
        clauses[at : at + 2] = [f"{clauses[at]}. {clauses[at + 1]}"]
    return clauses
