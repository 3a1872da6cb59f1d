"""Tier 0: the categories in which a caller has capabilities, with counts and some names."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, zip_longest
from operator import attrgetter

from catalog.capabilities.listing_cache import ListingEntry
from discovery.answer.token_budget import fits, largest
from discovery.metatools.registry import META_TOOLS

MOST_NAMES = 4
FIRST = "Categories of what you can use:"
LAST = f"Use {META_TOOLS['discover_capabilities'].name} to find more in any of them."


@dataclass(frozen=True, slots=True)
class Category:
    """A category with the number of its capabilities and the names of the first ones."""

    category: str
    count: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """The tier's text, and the number of categories that did not fit."""

    text: str
    left_out: int


def group_by_category(entries: Iterable[ListingEntry]) -> tuple[Category, ...]:
    """Group capabilities by category, largest first."""
    by_category = attrgetter("category")
    # Names alternate between integrations, which says more than many names of one integration.
    grouped = groupby(sorted(entries, key=attrgetter("category", "full_name")), by_category)
    categories = [_category(name, list(group)) for name, group in grouped]
    return tuple(sorted(categories, key=lambda category: (-category.count, category.category)))


def write_summary(categories: Sequence[Category], budget: int) -> Summary:
    """Write as many categories as fit, first without names, and a line on how to find more."""
    if not categories:
        return Summary("", 0)
    whole = len(categories)
    count = largest(whole, lambda number: fits(_text(categories[:number], 0, whole), budget))
    if count is None:
        return Summary(LAST if fits(LAST, budget) else "", whole)
    rounds = MOST_NAMES * count if count == whole else 0
    names = largest(rounds, lambda number: fits(_text(categories[:count], number, whole), budget))
    return Summary(_text(categories[:count], names or 0, whole), whole - count)


def _text(categories: Sequence[Category], names: int, whole: int) -> str:
    """Write the text with `names` names in all, dealt to the categories in turn."""
    rounds, further = divmod(names, len(categories)) if categories else (0, 0)
    lines = [
        _line(category, rounds + (place < further)) for place, category in enumerate(categories)
    ]
    if remaining := whole - len(categories):
        lines.append(f"- {remaining} more {'category' if remaining == 1 else 'categories'}")
    return "\n".join([FIRST, *lines, LAST])


def _line(category: Category, most: int) -> str:
    title, names = " ".join(category.category.split()), category.names[:most]
    if not names:
        return f"- {title} ({category.count})"
    remaining = category.count - len(names)
    more = f" (+{remaining} more)" if remaining else ""
    return f"- {title}: {', '.join(names)}{more} ({category.count})"


def _category(name: str, entries: Sequence[ListingEntry]) -> Category:
    slug = attrgetter("integration")
    groups = [list(group) for _, group in groupby(sorted(entries, key=slug), slug)]
    alternating = chain.from_iterable(zip_longest(*(group[:MOST_NAMES] for group in groups)))
    names = [entry.full_name for entry in alternating if entry is not None]
    return Category(name, len(entries), tuple(names[:MOST_NAMES]))
