"""Lookups: tools that find what another tool of their server requires, such as a `contact_id`.

They are read off names alone: `update_contact` requires `contact_id`, and `search_contacts` reads
contacts. So a message that asks to change a contact also gets the tool that finds it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from catalog.embedding.embedding_text import split_identifier

# First words of an argument's name tell what it identifies, the last that it does.
_IDENTIFIES = {"guid", "id", "identifier", "ids", "jid", "key", "ref", "sha", "urn", "uuid"}
_SEARCHES = {"find", "lookup", "query", "search"}
_LISTS = {"browse", "list", "ls"}
_LOOKS = _SEARCHES | _LISTS | {"fetch", "get", "read", "retrieve", "show", "view"}
# Of a tool, in the order of its schema, and the length of a name. They are a stranger's.
MOST_ARGUMENTS, LONGEST_NAME = 8, 100
# A tenth of a declared dependency: it takes a place of its own, and hardly moves another.
MOST_WEIGHT = 0.1
_LARGEST_MISFIT = 128
_Words = frozenset[str]


class NamedTool(NamedTuple):
    """A tool by its key, its action's name, and the names of the arguments that it requires."""

    key: int
    action: str
    required: tuple[str, ...]
    reads: bool  # it changes nothing


def find_lookups(tools: Sequence[NamedTool]) -> Iterator[tuple[int, int, float]]:
    """Yield tools of one server, each with a lookup for an argument that it requires, and a weight.

    All that fit are found, and each weighs by the two tools alone, so that a tool which a caller
    may not use changes nothing for them: who reads the pairs takes the heaviest that they may use.
    """
    lookups = _by_word(tools)
    wanted = {tool.key: set(_subjects(tool)) for tool in tools}
    for tool in tools:
        misfits: dict[int, int] = {}
        for subject in wanted[tool.key]:
            for other in _fitting(subject, lookups, wanted):
                misfit = _misfit(subject, other, wanted[other.key])
                misfits[other.key] = min(misfit, misfits.get(other.key, misfit))
        for key, misfit in misfits.items():
            yield tool.key, key, MOST_WEIGHT * (1 - misfit / _LARGEST_MISFIT)


def _fitting(
    subject: _Words, lookups: Mapping[str, list[NamedTool]], wanted: Mapping[int, set[_Words]]
) -> set[NamedTool]:
    """Return the lookups with a word of the subject that do not require the subject themselves."""
    named = {tool for word in subject for tool in lookups.get(word, ())}
    return {tool for tool in named if not any(subject & own for own in wanted[tool.key])}


def _by_word(tools: Sequence[NamedTool]) -> Mapping[str, list[NamedTool]]:
    """Return the tools that look something up, by the words of what that is."""
    lookups: dict[str, list[NamedTool]] = defaultdict(list)
    for tool in tools:
        words = set(_words(tool.action))
        if tool.reads and words & _LOOKS:
            for word in words - _LOOKS:
                lookups[word].append(tool)
    return lookups


def _misfit(subject: _Words, lookup: NamedTool, wanted: set[_Words]) -> int:
    """Count missing words most; then searches are best, lists, and what requires little itself."""
    words = set(_words(lookup.action))
    missing, searches, lists = len(subject - words), words & _SEARCHES, words & _LISTS
    return 8 * min(missing, 7) + 4 * (not searches) + 2 * (not lists) + (len(wanted) > 0)


def _subjects(tool: NamedTool) -> Iterator[_Words]:
    """Yield what the required arguments identify; `id` alone is of what the tool is named after."""
    for argument in tool.required[:MOST_ARGUMENTS]:
        *subject, last = _words(argument) or ("",)
        if last in _IDENTIFIES:
            yield frozenset(subject or _words(tool.action)[1:]) - _LOOKS


@lru_cache(maxsize=1000)  # each pair of tools asks, and under the catalogue's lock
def _words(name: str) -> tuple[str, ...]:
    """Split a name of any style into words in lower case and the singular."""
    return tuple(_singular(word) for word in split_identifier(name[:LONGEST_NAME]).split())


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
