"""The user's own words, and whether they name a value."""

import html
import re
from collections.abc import Iterable, Set
from functools import cached_property

from catalog.words.names import singular
from discovery.flow_guard._asked_actions import AskedActions
from discovery.flow_guard._spellings import (
    as_written,
    bare,
    compact,
    dates_in,
    first_word_of,
    folded_words,
    is_disguised,
    normalize,
    words_of,
)
from discovery.flow_guard.tool_facts import word_set

# A number says which one it is only beside one of these; elsewhere it is a day, a time, a price.
_COUNTING = word_set("id ids no nr number num nummer ref reference")
_SHORT_ID = 5
_LONGEST_WORD_RUN = 40
# An address goes on beside these, and is another one then.
_JOINED_BEFORE = re.compile(r"[\w@%+\-]$|\w[./:'&!#$*=?^`{|}~]$")
_JOINED_AFTER = re.compile(r"[\w@%+\-]|[./:?#=&]\w")
# These scripts write no blanks around words, and no address of Latin letters goes on in them.
_BLANKLESS = re.compile("[\u0e00-\u0e7f\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]")
_MARKS = re.compile(r"[@/:.\\]")
# Without blanks, only these marks are left out of a comparison; `draft*` is more than `draft`.
_PLAIN = re.compile(r"(?:\+?\(?(?=\d))?[^\W_](?:[-_,'+()]{0,2}[^\W_]){0,400}")
# Marks that steer a command, a query or a pattern: the user must have written them so.
_STEERING = re.compile(r"[&|<>$`*=~^\\{}]")
_BETWEEN = re.compile(r"(?<=[^\W_])[\W_]+(?=[^\W_])")


class UserWords:
    """Words of the user in this turn, with the values that an admin trusts beside them."""

    def __init__(self, messages: Iterable[str], trusted: Iterable[str] = ()) -> None:
        message = html.unescape("\n".join(messages))
        self._written, self._text = as_written(message), bare(normalize(message))
        self._trusted = [as_written(value).strip() for value in trusted if value.strip()]

    @cached_property
    def _words(self) -> list[str]:
        return words_of(self._text)

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """Return where each word stands."""
        places: dict[str, list[int]] = {}
        for at, word in enumerate(self._words):
            places.setdefault(word, []).append(at)
        return places

    @cached_property
    def _initials(self) -> set[str]:
        return {word[0] for word in self._words}

    @cached_property
    def actions(self) -> AskedActions:
        """Return what the message asks for."""
        return AskedActions(self._text)

    def trusts(self, value: str) -> bool:
        """Return True if an admin trusts the value, or all addresses of its domain ("@x.org")."""
        text = bare(as_written(value).strip())
        return any(
            text == entry or (entry.startswith("@") and text.endswith(entry) and "/" not in text)
            for entry in self._trusted
        )

    def name(self, value: str) -> bool:
        """Return True if the user wrote the value; an address must stand there as a whole."""
        text = bare(normalize(value).strip()).strip("\"'<>").rstrip("/").lstrip("@#")
        if not text or not self._may_mean(value):
            return False
        if not re.search(r"\s", text):
            if _MARKS.search(text):
                return self._has_address(text) or text in dates_in(self._text)
            if not _PLAIN.fullmatch(text):
                return self._has_address(text)
        elif _STEERING.search(text):
            return text in self._text
        words = words_of(text)
        if not words or len("".join(words)) < 2:
            return False
        return self._has_run(words) or (len(words) <= _LONGEST_WORD_RUN and self._has_joined(text))

    def _may_mean(self, value: str) -> bool:
        """Return False for what reads as the user's words and has other letters or marks."""
        if is_disguised(value):
            return as_written(value) in self._written
        words = words_of(as_written(value))
        if value.isascii():
            return self._folded_words.isdisjoint(words)
        return self._written_words.issuperset(words)

    @cached_property
    def _written_words(self) -> frozenset[str]:
        return frozenset(words_of(self._written))

    @cached_property
    def _folded_words(self) -> frozenset[str]:
        return folded_words(self._written)

    def may_name(self, name: str) -> bool:
        """Return False if the user cannot have written a name; quicker than `name`."""
        if ":" in name or "www." in name or not self._text.isascii():
            return True
        if name.isascii() and name[:1].isalnum() and name[0].lower() not in self._initials:
            return False
        first = first_word_of(normalize(name))
        if first[:1] not in self._initials:
            return False
        return any(first[:length] in self._places for length in range(1, len(first) + 1))

    def name_id(self, value: str, nouns: Set[str]) -> bool:
        """Return True if the user wrote this id. A short number must be called one."""
        text = normalize(value).strip().lstrip("#")
        if not self._may_mean(value):
            return False
        if len(compact(text)) >= _SHORT_ID and not text.isalpha():
            return self.name(text)
        called = _COUNTING | nouns
        for at, word in enumerate(self._words):
            if word == text and (
                f"#{text}" in self._text
                or any(
                    singular(previous) in called for previous in self._words[max(0, at - 2) : at]
                )
            ):
                return True
        return False

    def unsaid(self, words: Iterable[str], *, most: int) -> set[str]:
        """Return those normalised words that the user did not write, as many as are asked for."""
        unknown: set[str] = set()
        for word in words:
            if word not in self._places:
                unknown.add(word)
                if len(unknown) == most:
                    break
        return unknown

    def _has_address(self, text: str) -> bool:
        at = self._text.find(text)
        while at >= 0:
            end = at + len(text)
            before = _without_scripts(self._text[max(0, at - 2) : at])
            after = _without_scripts(self._text[end : end + 2])
            if not (_JOINED_BEFORE.search(before) or _JOINED_AFTER.match(after)):
                return True
            at = self._text.find(text, at + 1)
        return False

    def _has_run(self, words: list[str]) -> bool:
        length = len(words)
        places = self._places.get(words[0], ())
        return any(self._words[at : at + length] == words for at in places)

    def _has_joined(self, text: str) -> bool:
        """Return True if neighbouring words make up the value, as the groups of an IBAN do."""
        compact_text, breaks = compact(text), _breaks_in(text)
        beginnings = (compact_text[:length] for length in range(1, len(compact_text) + 1))
        starts = (at for beginning in beginnings for at in self._places.get(beginning, ()))
        return any(self._joins(compact_text, breaks, at) for at in starts)

    def _joins(self, compact_text: str, breaks: set[int], at: int) -> bool:
        joined, end = self._words[at], at + 1
        ends = {len(joined)}
        while (
            compact_text.startswith(joined)
            and len(joined) < len(compact_text)
            and end < len(self._words)
        ):
            joined, end = joined + self._words[end], end + 1
            ends.add(len(joined))
        return joined == compact_text and breaks <= ends


def _breaks_in(text: str) -> set[int]:
    """Return after how many letters a value has marks that may not part a word of the user.

    `al_ice` is not `alice`, but digits are the same in any groups.
    """
    breaks: set[int] = set()
    for mark in _BETWEEN.finditer(text):
        before, after = text[mark.start() - 1], text[mark.end()]
        if not (mark[0].isspace() or (before.isdigit() and after.isdigit())):
            breaks.add(len(compact(text[: mark.start()])))
    return breaks


def _without_scripts(text: str) -> str:
    return text if text.isascii() else _BLANKLESS.sub(" ", text)
