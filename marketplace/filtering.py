"""Filters of the marketplace, and how many listings each of their values would leave."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from catalog.models import Integration
from marketplace.models import Source

PAGE_SIZE = 24
INSTALLED, UPDATES, HELD = "installed", "updates", "held"
_SHOWN = {INSTALLED: "Installed", UPDATES: "Updates", HELD: "Held for review"}
_KINDS = {kind.value: str(kind.label) for kind in Integration.Kind}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody looks for; the empty value of each field narrows nothing."""

    words: str = ""
    kind: str = ""
    category: str = ""
    source: str = ""
    show: str = ""  # installed, updates, held
    page: int = 1
    size: int = PAGE_SIZE
    offset: int | None = None  # instead of a page: so many are left out

    @property
    def is_narrowed(self) -> bool:
        """Whether anything but the page is chosen."""
        return any((self.words, self.kind, self.category, self.source, self.show))


class Facts(NamedTuple):
    """What listings are filtered by; the source by its slug."""

    kind: str
    category: str
    source: str
    installed: bool
    has_update: bool
    is_held: bool = False

    def fit(self, wanted: Wanted, *, besides: str = "") -> bool:
        """Whether they fit every filter but one."""
        return (
            (besides == "kind" or wanted.kind in ("", self.kind))
            and (besides == "category" or wanted.category in ("", self.category))
            and (besides == "source" or wanted.source in ("", self.source))
            and (besides == "show" or self.are_shown(wanted.show))
        )

    def are_shown(self, show: str) -> bool:
        """Return True if they are what is wanted: installed, with an update, held for review."""
        shown = {INSTALLED: self.installed, UPDATES: self.has_update, HELD: self.is_held}
        return shown.get(show, True)


Counted = Sequence[tuple[Facts, int]]  # so many listings of these facts


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a filter, and how many listings fit it and all other filters."""

    value: str
    label: str
    count: int


@dataclass(frozen=True, slots=True)
class Filters:
    """What a page can be narrowed by, and how many listings fit all that is narrowed already."""

    kinds: tuple[Choice, ...]
    categories: tuple[Choice, ...]
    sources: tuple[Choice, ...]
    shown: tuple[Choice, ...]
    any_category: int
    count: int


def filters_for(counted: Counted, wanted: Wanted, sources: Sequence[Source]) -> Filters:
    """The filters, each counted with all others applied."""
    kinds = _tally(counted, wanted, "kind", lambda facts: facts.kind)
    categories = _tally(counted, wanted, "category", lambda facts: facts.category)
    of_sources = _tally(counted, wanted, "source", lambda facts: facts.source)
    states = [(facts, number) for facts, number in counted if facts.fit(wanted, besides="show")]
    return Filters(
        kinds=_choices(kinds, wanted.kind, _KINDS),
        categories=_choices(categories, wanted.category),
        sources=tuple(
            Choice(one.slug, one.title, of_sources[one.slug])
            for one in sources
            if of_sources[one.slug] or one.slug == wanted.source
        ),
        shown=_shown(states, wanted),
        any_category=categories.total(),
        count=sum(number for facts, number in counted if facts.fit(wanted)),
    )


def _shown(states: Counted, wanted: Wanted) -> tuple[Choice, ...]:
    """What is installed or has an update; what is held only where something is."""
    counts = {
        show: sum(number for facts, number in states if facts.are_shown(show)) for show in _SHOWN
    }
    return tuple(
        Choice(show, label, counts[show])
        for show, label in _SHOWN.items()
        if show != HELD or counts[show] or wanted.show == HELD
    )


def _tally(
    counted: Counted, wanted: Wanted, besides: str, value: Callable[[Facts], str]
) -> Counter[str]:
    found: Counter[str] = Counter()
    for facts, number in counted:
        if facts.fit(wanted, besides=besides):
            found[value(facts)] += number
    return found


def _choices(
    counts: Counter[str], chosen: str, labels: Mapping[str, str] = MappingProxyType({})
) -> tuple[Choice, ...]:
    """Every value that leaves something; and the chosen one, so that it can be taken away."""
    values = sorted({*counts, chosen} - {""})
    return tuple(Choice(value, labels.get(value, value), counts[value]) for value in values)
