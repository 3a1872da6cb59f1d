"""Categories: the declared one, or one inferred from the name and description.

Only whole words count: `read` does not match `thread`. A word in the name weighs more than one in
the description, and the first sentence more than the rest.
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
_MIN_SCORE = 0.6
_MAX_REPEATS = 2

_CATEGORIES_OF: dict[str, list[str]] = {}
for _category, _words in CATEGORY_WORDS.items():
    for _word in _words.split():
        _CATEGORIES_OF.setdefault(_word, []).append(_category)


def resolve_category(declared: str, *, name: str, description: str) -> tuple[str, bool]:
    """Return the category, and True if it was inferred."""
    known = canonical_category(declared)
    if known:
        return known, False
    return infer_category(name, description), True


@lru_cache(maxsize=1024)
def canonical_category(declared: str) -> str:
    """Normalize a declared category: "Web Search & Research" becomes `web-search-research`."""
    folded = unicodedata.normalize("NFKC", declared).casefold()
    return re.sub(r"[^\w]+|_+", "-", folded).strip("-")[:_LENGTH].strip("-")


def infer_category(name: str, description: str) -> str:
    """Return the category with the highest word score, or `other`."""
    first, _, rest = description.strip().replace("\n", ". ").partition(". ")
    scores: dict[str, float] = {}
    for text, weight in (
        (name, _NAME_WEIGHT),
        (first, _FIRST_SENTENCE_WEIGHT),
        (rest, _REST_WEIGHT),
    ):
        _add_scores(scores, split_words(text[:2000]), weight)
    # max() keeps the first of equals, so a tie goes to the category listed first.
    best = max(CATEGORY_WORDS, key=lambda category: scores.get(category, 0.0))
    return best if scores.get(best, 0.0) >= _MIN_SCORE else OTHER


def split_words(text: str) -> list[str]:
    """Split a text into lower-case words, splitting camelCase and snake_case names too."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text)
    return [word.lower() for word in re.findall(r"[^\W_]+", spaced)]


def _add_scores(scores: dict[str, float], words: list[str], weight: float) -> None:
    seen: dict[str, int] = {}
    for word in words:
        seen[word] = seen.get(word, 0) + 1
        # A word repeated many times must not decide the category alone.
        if seen[word] > _MAX_REPEATS or word not in _CATEGORIES_OF:
            continue
        strength = weight * (_WEAK_WEIGHT if word in _WEAK else 1.0)
        for category in _CATEGORIES_OF[word]:
            scores[category] = scores.get(category, 0.0) + strength
