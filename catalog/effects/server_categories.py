"""Categories of a server's tools, from its words, its tools together, and each tool's own words.

Pure: the same texts give the same categories, whoever asks. Only whole words count. All tools of
the server count, not only those that a caller may use: a category must not tell who sees what.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from catalog.effects._server_words import GENERIC_WORDS, MORE_WEAK_WORDS, MORE_WORDS, VERBS
from catalog.formats.categories import CATEGORY_WORDS, OTHER, WEAK_WORDS
from catalog.words.names import split_words

_TITLE, _SLUG, _ABOUT, _REST_OF_ABOUT = 3.0, 1.5, 1.5, 0.3
_NEIGHBOURS, _NEIGHBOURS_DESCRIPTION = 6.0, 0.5
_WHOLE_VOTE = 0.8  # a tool with one ambiguous word has no whole vote
_NAME, _DESCRIPTION, _REST = 1.5, 0.5, 0.1
_WEAK_STRENGTH, _GENERIC_STRENGTH, _VERB_STRENGTH = 0.4, 0.15, 0.2
_MIN_SCORE = 0.6
_MAX_REPEATS = 2
_MOST_NEIGHBOURS = 50
_MOST_TEXT = 2_000

_WEAK = frozenset((WEAK_WORDS + MORE_WEAK_WORDS).split())
_GENERIC = frozenset(GENERIC_WORDS.split())
_VERBS = frozenset(VERBS.split())
_Scores = dict[str, float]


class ServerTexts(NamedTuple):
    """The words of an integration."""

    slug: str
    title: str
    description: str


class ToolTexts(NamedTuple):
    """The words of one of its tools."""

    name: str
    description: str


def categorize(server: ServerTexts, tools: Sequence[ToolTexts]) -> list[str]:
    """Return the category of each tool, in their order."""
    common = _server_scores(server, tools)
    return [_best({**common}, tool) for tool in tools]


def _best(scores: _Scores, tool: ToolTexts) -> str:
    """Add the tool's own words to its server's, and return the first of the best categories."""
    first, rest = _split(tool.description)
    for text, weight in ((tool.name, _NAME), (first, _DESCRIPTION), (rest, _REST)):
        _add(scores, text, weight)
    best = max(CATEGORY_WORDS, key=lambda category: scores.get(category, 0.0))
    return best if scores.get(best, 0.0) >= _MIN_SCORE else OTHER


def _server_scores(server: ServerTexts, tools: Iterable[ToolTexts]) -> _Scores:
    first, rest = _split(server.description)
    scores: _Scores = {}
    _add(scores, server.title, _TITLE, is_server=True)
    if not set(split_words(server.slug)) <= set(split_words(server.title)):
        _add(scores, server.slug, _SLUG, is_server=True)
    _add(scores, first, _ABOUT, is_server=True)
    _add(scores, rest, _REST_OF_ABOUT, is_server=True)
    # The alphabet decides which of many count, so that the order of a list does not.
    neighbours = sorted(tools)[:_MOST_NEIGHBOURS]
    for tool in neighbours:
        for category, share in _shares(tool).items():
            scores[category] = scores.get(category, 0.0) + _NEIGHBOURS * share / len(neighbours)
    return scores


def _shares(tool: ToolTexts) -> Mapping[str, float]:
    """Return a tool's vote for each category; the votes of one tool sum up to 1 at most."""
    scores: _Scores = {}
    _add(scores, tool.name, 1.0)
    _add(scores, _split(tool.description)[0], _NEIGHBOURS_DESCRIPTION)
    whole = max(_WHOLE_VOTE, sum(scores.values()))
    return {category: score / whole for category, score in scores.items()}


def _split(text: str) -> tuple[str, str]:
    first, _, rest = text.strip().replace("\n", ". ").partition(". ")
    return first, rest


def _add(scores: _Scores, text: str, weight: float, *, is_server: bool = False) -> None:
    counts: dict[str, int] = {}
    for word in split_words(text[:_MOST_TEXT]):
        counts[word] = counts.get(word, 0) + 1
        categories = _categories().get(word, ())
        if counts[word] > _MAX_REPEATS or not categories:
            continue
        # A word of several categories says less about each.
        strength = weight * _strength(word, is_server=is_server) / len(categories) ** 0.5
        for category in categories:
            scores[category] = scores.get(category, 0.0) + strength


def _strength(word: str, *, is_server: bool) -> float:
    strength = _WEAK_STRENGTH if word in _WEAK else 1.0
    if is_server:
        return strength * (_GENERIC_STRENGTH if word in _GENERIC else 1.0)
    return _VERB_STRENGTH if word in _VERBS else strength


@cache
def _categories() -> Mapping[str, tuple[str, ...]]:
    """Return the categories that each word indicates."""
    by_word: dict[str, list[str]] = {}
    for category, words in CATEGORY_WORDS.items():
        for word in dict.fromkeys(f"{words} {MORE_WORDS.get(category, '')}".split()):
            by_word.setdefault(word, []).append(category)
    return {word: tuple(categories) for word, categories in by_word.items()}
