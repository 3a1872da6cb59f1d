"""Readings: the answers of a turn, digested so that values can be followed and nothing read."""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from catalog.words.names import argument_words
from discovery.flow_guard._result_records import ParsedResult, Record, merge, parse_result
from discovery.flow_guard._spellings import (
    addresses_in,
    compact,
    dates_in,
    normalize,
    spellings_of,
    words_of,
)
from discovery.flow_guard._text_tokens import joined, tokens_of
from discovery.flow_guard._token_hashes import hash_of
from discovery.flow_guard.tool_facts import ToolFacts, nouns_of, word_set
from discovery.flow_guard.user_words import UserWords

# What lies beyond is not followed; the reading says so, and the guard asks.
MOST_CHARACTERS = 65_536
_MOST_TOKENS = 8192
_MOST_GRANTED = 256
_LOCATORS = word_set("file filepath link location page path uri url website")
_SENTENCE = 3


@dataclass(frozen=True, slots=True)
class Granted:
    """Id that may decide: of a record that the user named, or that this turn made."""

    value: str
    nouns: frozenset[str]
    source: str
    # The record's name; "" for what the turn made.
    name: str = ""


# Not frozen, though never changed: all of a turn are opened for each call, and a frozen one takes
# four times as long to make.
@dataclass(slots=True)
class Reading:
    """Digest of one answer: hashes of its words and values, and the ids that may decide."""

    tool: str
    where: str
    private: bool
    foreign: bool
    clean: bool
    has_text: bool
    cut: bool = False
    tokens: "array[int] | memoryview[int]" = field(default_factory=lambda: array("I"))
    granted: tuple[Granted, ...] = ()

    def has(self, token: str) -> bool:
        """Return True if the answer contains the normalised word or value."""
        return self.has_hash(hash_of(token))

    def has_hash(self, token: int) -> bool:
        """Return True if the answer contains a word or value with this hash."""
        at = bisect_left(self.tokens, token)
        return at < len(self.tokens) and self.tokens[at] == token

    def contains(self, value: object) -> bool:
        """Return True if the value, in any of its spellings, occurs in the answer."""
        return self.holds(Sought.of(value))

    def holds(self, sought: "Sought") -> bool:
        """Return True if one of the sought spellings occurs in the answer."""
        if any(map(self.has_hash, sought.whole)):
            return True
        # Most values are one word, and a generator takes as long as looking one up.
        return bool(sought.words) and any(all(map(self.has_hash, word)) for word in sought.words)


@dataclass(frozen=True, slots=True)
class Sought:
    """Hashes of a value's spellings: computed once, and looked for in every answer."""

    whole: tuple[int, ...]
    # Of each spelling with several words, which may stand apart.
    words: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, value: object) -> "Sought":
        """Return what to look for."""
        whole: dict[int, None] = {}
        apart = []
        for text in filter(None, spellings_of(value)):
            forms = (text, *addresses_in(text)[:1], compact(text), *dates_in(text)[:1])
            whole |= dict.fromkeys(hash_of(form) for form in forms if form)
            if len(words := words_of(text)) > 1:
                apart.append(tuple(map(hash_of, words)))
        return cls(tuple(whole), tuple(apart))


@dataclass(slots=True)
class TurnReadings:
    """The readings of a turn, in order."""

    words: UserWords
    readings: list[Reading] = field(default_factory=list)
    # Tools whose answers the guard was not told.
    blind: tuple[str, ...] = ()

    def add(
        self,
        tool: ToolFacts,
        arguments: Mapping[str, Any],
        texts: Sequence[str],
        *,
        by_itself: bool,
    ) -> Reading:
        """Digest an answer's texts. `by_itself`: the call ran without the guard's objection."""
        reading = digest(tool, arguments, texts, self, by_itself=by_itself)
        self.readings.append(reading)
        return reading

    @property
    def has_foreign(self) -> bool:
        """Return True if text that strangers wrote was read."""
        return any(reading.foreign for reading in self.readings)

    @property
    def has_private(self) -> bool:
        """Return True if private data was read."""
        return any(reading.private for reading in self.readings)

    @property
    def has_text(self) -> bool:
        """Return True if any text was read that could tell the model what to do."""
        if self.blind:
            return True
        return any(reading.has_text and not reading.clean for reading in self.readings)

    def find(self, value: object) -> Reading | None:
        """Return the first reading in which the value occurs."""
        return next(iter(self.holding(value)), None)

    def holding(self, value: object) -> list[Reading]:
        """Return the readings in which the value occurs."""
        sought = Sought.of(value)
        return [reading for reading in self.readings if reading.holds(sought)]

    def has_whole(self, value: object) -> bool:
        """Return True if the value stands in one piece in an answer."""
        whole = Sought.of(value).whole
        return any(reading.has_hash(token) for reading in self.readings for token in whole)

    def granted(self, value: str, nouns: Iterable[str], tool: ToolFacts) -> Granted | None:
        """Return why an id may decide, or None; two records of one name decide nothing."""
        text, noun_set = normalize(value).strip(), set(nouns)
        every = [grant for reading in self.readings for grant in reading.granted]
        same = [grant for grant in every if grant.source == tool.source and noun_set & grant.nouns]
        match = next((grant for grant in same if grant.value == text), None)
        if match is None or not match.name:
            return match
        twins = {grant.value for grant in same if grant.name == match.name}
        return match if len(twins) == 1 else None


def digest(
    tool: ToolFacts,
    arguments: Mapping[str, Any],
    texts: Sequence[str],
    earlier: TurnReadings,
    *,
    by_itself: bool,
) -> Reading:
    """Digest one answer, as `TurnReadings.add` does."""
    # Servers repeat a structured answer as text: the same record and text count once.
    parsed = merge([parse_result(text[:MOST_CHARACTERS]) for text in texts])
    # True for what stands at a path or URL: its whole form is its author's.
    is_document = not tool.acts and any(set(argument_words(name)) & _LOCATORS for name in arguments)
    whole = joined((*parsed.texts, *parsed.keys))
    free = None if is_document or parsed.free_texts is None else joined(parsed.free_texts)
    tokens, lengths = tokens_of(whole[:MOST_CHARACTERS], free and free[:MOST_CHARACTERS])
    if free is None:
        lengths = lengths[: len(parsed.texts)]
    return Reading(
        tool=tool.name,
        where=_where(arguments) if is_document else "",
        private=tool.reads_private,
        foreign=tool.returns_foreign and not tool.trusted,
        clean=tool.trusted and not earlier.has_text,
        has_text=tool.returns_foreign or any(length > _SENTENCE for length in lengths),
        cut=len(whole) > MOST_CHARACTERS or len(tokens) > _MOST_TOKENS,
        tokens=array("I", tokens[:_MOST_TOKENS].tobytes()),
        granted=()
        if is_document
        else tuple(_granted(tool, arguments, parsed, earlier.words, by_itself=by_itself)),
    )


def _where(arguments: Mapping[str, Any]) -> str:
    places = (
        str(value) for name, value in arguments.items() if set(argument_words(name)) & _LOCATORS
    )
    return next(places, "")[:200]


def _granted(
    tool: ToolFacts,
    arguments: Mapping[str, Any],
    parsed: ParsedResult,
    words: UserWords,
    *,
    by_itself: bool,
) -> Iterator[Granted]:
    """Yield the ids of what an unobjected call made, or of records that the user named."""
    if tool.acts:
        records = [(record, "") for record in parsed.records if by_itself]
    else:
        records = _named_records(arguments, parsed.records, words)
    for record, name in records[:_MOST_GRANTED]:
        for noun, value in record.ids:
            nouns = nouns_of(tool.name) | ({noun} if noun else frozenset())
            yield Granted(normalize(value).strip(), nouns, tool.source, name)


def _named_records(
    arguments: Mapping[str, Any], records: Sequence[Record], words: UserWords
) -> list[tuple[Record, str]]:
    """Return records that the message names, and the only hit of a search for its words."""
    matching = []
    for record in records:
        for name in record.names:
            if names_it(words, name):
                matching.append((record, name))
                break
    terms = [str(value) for value in arguments.values() if isinstance(value, str)]
    for term in terms if not matching else ():
        hits = [
            (candidate, name)
            for candidate in records
            for name in candidate.names
            if _has_words(name, term)
        ]
        if len(hits) == 1 and names_it(words, term):
            return hits
    return matching


def _has_words(name: str, term: str) -> bool:
    term_words = set(words_of(normalize(term)))
    return bool(term_words) and term_words <= set(words_of(normalize(name)))


_LEAST_NAME = 4
_ENDING, _JOINING = re.compile(r"\.[A-Za-z0-9]{1,5}$"), re.compile(r"[-_.]+")


def names_it(words: UserWords, name: str) -> bool:
    """Return True if the user wrote a record's name, with or without the ending of a file."""
    if not words.may_name(name):
        return False
    stem = _ENDING.sub("", name)
    if not any(len(word) >= _LEAST_NAME for word in words_of(normalize(stem))):
        return False
    return words.name(name) or words.name(_JOINING.sub(" ", stem))
