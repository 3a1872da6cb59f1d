"""Filters of the marketplace, and how many listings each value would leave."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from acl.platform.answer_model import HIDDEN, Answer, Shown
from catalog.models import Integration
from marketplace.models import Source

PAGE_SIZE = 24
INSTALLED, KNOWN, UPDATES, HELD = "installed", "known", "updates", "held"
_SHOWN = {
    INSTALLED: _("Installed"),
    KNOWN: _("Known to work"),
    UPDATES: _("Updates"),
    HELD: _("Held for review"),
}
_KINDS = {kind.value: kind.label for kind in Integration.Kind}


@dataclass(frozen=True, slots=True)
class ListingQuery:
    """Search words, filters and page. An empty value does not filter."""

    words: str = ""
    kind: str = ""
    category: str = ""
    source: str = ""
    show: str = ""  # installed, known, updates, held
    page: int = 1
    size: int = PAGE_SIZE
    offset: int | None = None  # listings to skip; replaces `page`

    @property
    def is_narrowed(self) -> bool:
        """True if words or any filter are set."""
        return any((self.words, self.kind, self.category, self.source, self.show))


class Facets(NamedTuple):
    """The filterable attributes of a listing. `source` is its source's slug."""

    kind: str
    category: str
    source: str
    installed: bool
    has_update: bool
    is_held: bool = False
    is_known: bool = False

    def matches_query(self, query: ListingQuery, *, ignoring: str = "") -> bool:
        """Return True if all filters match, ignoring the filter named by `ignoring`."""
        return (
            (ignoring == "kind" or query.kind in ("", self.kind))
            and (ignoring == "category" or query.category in ("", self.category))
            and (ignoring == "source" or query.source in ("", self.source))
            and (ignoring == "show" or self.matches_show(query.show))
        )

    def matches_show(self, show: str) -> bool:
        """Return True if they match the filter."""
        matches = {
            INSTALLED: self.installed,
            KNOWN: self.is_known,
            UPDATES: self.has_update,
            HELD: self.is_held,
        }
        return matches.get(show, True)


FacetCounts = Sequence[tuple[Facets, int]]  # number of listings for each combination


@dataclass(frozen=True, slots=True)
class Choice(Answer):
    """A value of a filter."""

    value: str
    label: Annotated[str, HIDDEN]
    count: Annotated[int, Shown("Number of listings that match this value and all other filters.")]


@dataclass(frozen=True, slots=True)
class Filters(Answer):
    """Values that can narrow a list of listings."""

    component = "ListingFilters"

    kinds: tuple[Choice, ...]
    categories: tuple[Choice, ...]
    sources: tuple[Choice, ...]
    shown: tuple[Choice, ...]
    any_category: Annotated[int, HIDDEN]
    count: Annotated[int, HIDDEN]  # of the listings that match all of them

    @property
    def shown_to_all(self) -> tuple[Choice, ...]:
        """Choices that mean something to others than admins."""
        return tuple(choice for choice in self.shown if choice.value in (INSTALLED, KNOWN))


def filters_for(counted: FacetCounts, query: ListingQuery, sources: Sequence[Source]) -> Filters:
    """Return the filters. Each one is counted with all the others applied."""
    kinds = _count_values(counted, query, "kind", lambda facets: facets.kind)
    categories = _count_values(counted, query, "category", lambda facets: facets.category)
    of_sources = _count_values(counted, query, "source", lambda facets: facets.source)
    states = [
        (facets, number)
        for facets, number in counted
        if facets.matches_query(query, ignoring="show")
    ]
    return Filters(
        kinds=_choices(kinds, query.kind, _KINDS),
        categories=_choices(categories, query.category),
        sources=tuple(
            Choice(source.slug, source.title, of_sources[source.slug])
            for source in sources
            if of_sources[source.slug] or source.slug == query.source
        ),
        shown=_count_shown(states, query),
        any_category=categories.total(),
        count=sum(number for facets, number in counted if facets.matches_query(query)),
    )


def _count_shown(states: FacetCounts, query: ListingQuery) -> tuple[Choice, ...]:
    """Count listings by what is known of them here; held and known ones if there are any."""
    counts = {
        show: sum(number for facets, number in states if facets.matches_show(show))
        for show in _SHOWN
    }
    return tuple(
        Choice(show, str(label), counts[show])
        for show, label in _SHOWN.items()
        if show not in (KNOWN, HELD) or counts[show] or query.show == show
    )


def _count_values(
    counted: FacetCounts, query: ListingQuery, ignoring: str, value: Callable[[Facets], str]
) -> Counter[str]:
    counts: Counter[str] = Counter()
    for facets, number in counted:
        if facets.matches_query(query, ignoring=ignoring):
            counts[value(facets)] += number
    return counts


def _choices(
    counts: Counter[str], chosen: str, labels: Mapping[str, str | Promise] = MappingProxyType({})
) -> tuple[Choice, ...]:
    """Return values with matches, and the chosen one even at 0 so that it can be deselected."""
    values = sorted({*counts, chosen} - {""})
    return tuple(Choice(value, str(labels.get(value, value)), counts[value]) for value in values)
