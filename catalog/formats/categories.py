"""The category of a capability: the declared one, or one worked out from its name and description.

Whole words count, never parts of them: `read` is not in `thread`. A word of the name weighs more
than one of the description, and the first sentence more than the rest.
"""

import re
import unicodedata
from functools import lru_cache

from catalog.formats.category_words import CATEGORY_WORDS, WEAK_WORDS

COMMUNICATION = "communication"
OTHER = "other"
_LENGTH = 60

_WEAK = frozenset(WEAK_WORDS.split())
_NAME_WEIGHT = 3.0
_FIRST_SENTENCE_WEIGHT = 1.5
_REST_WEIGHT = 0.25
_WEAK_WEIGHT = 0.4
_ENOUGH = 0.6
_REPEATS = 2

_CATEGORIES_OF: dict[str, list[str]] = {}
for _category, _words in CATEGORY_WORDS.items():
    for _word in _words.split():
        _CATEGORIES_OF.setdefault(_word, []).append(_category)


def category_of(declared: str, *, name: str, description: str) -> tuple[str, bool]:
    """The category, and whether it was worked out."""
    known = canonical_category(declared)
    if known:
        return known, False
    return infer_category(name, description), True


@lru_cache(maxsize=1024)
def canonical_category(declared: str) -> str:
    """One spelling for a declared category: "Web Search & Research" becomes
    `web-search-research`."""
    folded = unicodedata.normalize("NFKC", declared).casefold()
    return re.sub(r"[^\w]+|_+", "-", folded).strip("-")[:_LENGTH].strip("-")


def infer_category(name: str, description: str) -> str:
    """The category whose words the texts have most of, or `other`. Equal scores go to the one
    listed first."""
    first, _, rest = description.strip().replace("\n", ". ").partition(". ")
    scores: dict[str, float] = {}
    for text, weight in (
        (name, _NAME_WEIGHT),
        (first, _FIRST_SENTENCE_WEIGHT),
        (rest, _REST_WEIGHT),
    ):
        _add_scores(scores, words_of(text[:2000]), weight)
    best = max(CATEGORY_WORDS, key=lambda category: scores.get(category, 0.0))
    return best if scores.get(best, 0.0) >= _ENOUGH else OTHER


def words_of(text: str) -> list[str]:
    """The lower-case words of a text, with camelCase and snake_case names taken apart."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text)
    return [word.lower() for word in re.findall(r"[^\W_]+", spaced)]


def _add_scores(scores: dict[str, float], words: list[str], weight: float) -> None:
    seen: dict[str, int] = {}
    for word in words:
        seen[word] = seen.get(word, 0) + 1
        if seen[word] > _REPEATS or word not in _CATEGORIES_OF:
            continue
        strength = weight * (_WEAK_WEIGHT if word in _WEAK else 1.0)
        for category in _CATEGORIES_OF[word]:
            scores[category] = scores.get(category, 0.0) + strength
