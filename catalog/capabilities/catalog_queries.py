"""Catalogue queries: lists, single capabilities, categories, the tree, statistics.

Every query is limited to what the caller may use. Lists read rights and version in one statement
and take definitions from the cached listing: with 5,000 capabilities this costs a quarter of SQL
alone. Named capabilities are read from Postgres, in one statement.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any, Protocol

from django.db.models import F

from acl.platform.answer_model import Answer, Shown
from acl.rights.caller_lookup import Caller
from catalog.access.group_scope import count_groups
from catalog.access.my_tools import read_usable
from catalog.access.usable_ids import Usable, UsableSet, usable_ids
from catalog.capabilities.detail_levels import Detail, describe_capability, needs_row
from catalog.capabilities.listing_cache import ListingEntry, build_entry, listing_cache
from catalog.models import Capability, Embedding
from catalog.readiness.obstacles import OWN_INTEGRATIONS, Obstacle
from catalog.readiness.readiness import ToolReadiness, tell_approvers
from catalog.relations.neighbours import count_edges

EVERY_KIND = frozenset({"", "any", "all"})
MAX_HINT_SLUGS = 5


class _OfIntegration(Protocol):
    @property
    def integration(self) -> str: ...


@dataclass(frozen=True, slots=True)
class CapabilityFilters:
    """Filters of a list; empty ones match everything."""

    kind: str = ""
    category: str = ""
    integration: str = ""
    prefix: str = ""
    query: str = ""

    def matches(self, entry: ListingEntry) -> bool:
        """Return True if the entry matches all filters."""
        return (
            (self.kind in EVERY_KIND or entry.kind == self.kind)
            and self.category in {"", entry.category}
            and self.integration in {"", entry.integration}
            and entry.full_name.startswith(self.prefix)
            and _mentions(entry, self.query)
        )


@dataclass(frozen=True, slots=True)
class Page:
    """A page of matching capabilities; `total` counts all matches."""

    items: tuple[dict[str, Any], ...]
    total: int
    limit: int
    offset: int
    hint: str

    @property
    def has_more(self) -> bool:
        """Return True if more pages follow."""
        return self.offset + len(self.items) < self.total


@dataclass(frozen=True, slots=True)
class Batch:
    """The found capabilities in the requested order, and the names not found."""

    found: tuple[dict[str, Any], ...]
    not_found: tuple[str, ...]
    hint: str


@dataclass(frozen=True, slots=True)
class CategorySummary:
    """A category and the full names of its capabilities."""

    category: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IntegrationBranch:
    """An integration and its capabilities."""

    integration: str
    title: str
    capabilities: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Statistics(Answer):
    """Statistics of what the caller may use."""

    capabilities: int
    integrations: int
    embedded: int
    pending: Annotated[int, Shown("Not embedded yet; found by keywords.")]
    graph_nodes: int
    graph_edges: int
    # The catalogue's own version would reveal changes of hidden capabilities.
    index_version: Annotated[str, Shown("Changes if and only if what the caller may use changes.")]


@dataclass(frozen=True, slots=True)
class _View:
    """The caller's part of the listing, by full name, with disconnected entries apart."""

    caller: Caller
    usable: Usable
    entries: Sequence[ListingEntry]
    disconnected: Sequence[ListingEntry]

    def filter(self, filters: CapabilityFilters) -> "_View":
        return _View(
            self.caller,
            self.usable,
            [entry for entry in self.entries if filters.matches(entry)],
            [entry for entry in self.disconnected if filters.matches(entry)],
        )

    def readiness_of(self, entry: ListingEntry) -> ToolReadiness:
        return self.usable.readiness_of(entry.pk, entry.integration)

    def readiness_of_all(self, entries: Sequence[ListingEntry]) -> dict[int, ToolReadiness]:
        """Return the readiness of each entry shown, with who may approve, by primary key."""
        readinesses = [self.readiness_of(entry) for entry in entries]
        with_approvers = tell_approvers(readinesses, self.caller.user_id)
        return dict(zip((entry.pk for entry in entries), with_approvers, strict=True))

    @property
    def hint(self) -> str:
        return describe_disconnected(self.disconnected)


def list_capabilities(
    *,
    caller: Caller,
    filters: CapabilityFilters = CapabilityFilters(),
    detail: Detail = "name_description",
    examples: bool = False,
    limit: int = 50,
    offset: int = 0,
) -> Page:
    """Return a page of the caller's capabilities, by full name."""
    view = _view(caller).filter(filters)
    page_entries = view.entries[offset : offset + limit]
    if needs_row(detail, examples=examples):
        items = _describe_rows(caller, view, page_entries, detail, examples=examples)
    else:
        items = _describe_entries(view, page_entries, detail)
    return Page(tuple(items), len(view.entries), limit, offset, view.hint)


def list_runnable(*, caller: Caller) -> list[ListingEntry]:
    """Return the connected ones whose calls end here, not in the application that asked."""
    view = _view(caller)
    described = view.usable.keys.described
    return [
        entry
        for entry in view.entries
        if entry.pk not in described and entry.integration not in OWN_INTEGRATIONS
    ]


def get_capability(
    *, caller: Caller, full_name: str, detail: Detail = "full_schema", examples: bool = False
) -> dict[str, Any] | None:
    """Return one capability; None if it does not exist or is not the caller's."""
    batch = get_batch(caller=caller, names=[full_name], detail=detail, examples=examples)
    return batch.found[0] | {"hint": batch.hint} if batch.found else None


def get_batch(
    *,
    caller: Caller,
    names: Sequence[str],
    detail: Detail = "name_description",
    examples: bool = False,
) -> Batch:
    """Return capabilities by full name, including disconnected ones, with a hint."""
    distinct_names = list(dict.fromkeys(names))
    usable_rows = read_usable(caller, names=distinct_names)
    rows = {row.full_name: row for row in usable_rows}
    groups = _count_groups(caller, [row.pk for row in usable_rows], detail)
    return Batch(
        found=tuple(
            _describe_row(rows[name], detail, examples, groups.get(rows[name].pk, 1))
            for name in distinct_names
            if name in rows
        ),
        not_found=tuple(name for name in distinct_names if name not in rows),
        hint=describe_disconnected(
            build_entry(row) for row in usable_rows if _is_disconnected(row)
        ),
    )


def list_names(*, caller: Caller) -> tuple[tuple[str, ...], str]:
    """Return all full names, and the hint about disconnected integrations."""
    view = _view(caller)
    return tuple(entry.full_name for entry in view.entries), view.hint


def list_categories(*, caller: Caller) -> tuple[tuple[CategorySummary, ...], str]:
    """Return the categories, and the hint about disconnected integrations."""
    view = _view(caller)
    groups = _group_by(view.entries, "category")
    summaries = tuple(
        CategorySummary(category, tuple(entry.full_name for entry in entries))
        for category, entries in groups
    )
    return summaries, view.hint


def build_tree(*, caller: Caller) -> tuple[tuple[IntegrationBranch, ...], str]:
    """Return integrations with their capabilities, and the hint about disconnected ones."""
    view = _view(caller)
    described = {
        body["full_name"]: body
        for body in _describe_entries(view, view.entries, "name_description")
    }
    branches = tuple(
        IntegrationBranch(
            slug,
            entries[0].integration_title,
            tuple(described[entry.full_name] for entry in entries),
        )
        for slug, entries in _group_by(view.entries, "integration")
    )
    return branches, view.hint


def statistics(*, caller: Caller) -> Statistics:
    """Return statistics of what the caller may use."""
    view = _view(caller)
    # Only vectors of the active model with the current text count.
    embedded = Embedding.objects.filter(
        capability__in=Capability.objects.usable_by(caller).connected(),
        model__active=True,
        vector_hash=F("text_hash"),
    ).count()
    total = len(view.entries)
    return Statistics(
        capabilities=total,
        integrations=len({entry.integration for entry in view.entries}),
        embedded=min(embedded, total),  # the two statements may see different snapshots
        pending=max(0, total - embedded),
        graph_nodes=total,
        graph_edges=count_edges(caller),
        index_version=_index_version(view),
    )


def describe_disconnected(disconnected: Iterable[_OfIntegration]) -> str:
    """Describe the disconnected integrations, or return ""."""
    entries = list(disconnected)
    slugs = sorted({entry.integration for entry in entries})
    if not slugs:
        return ""
    listed, others = slugs[:MAX_HINT_SLUGS], slugs[MAX_HINT_SLUGS:]
    more = f" and {len(others)} more" if others else ""
    capabilities = "capability" if len(entries) == 1 else "capabilities"
    return (
        f"Not connected at the moment: {', '.join(listed)}{more} ({len(entries)} {capabilities})."
    )


def _view(caller: Caller) -> _View:
    usable = usable_ids(caller)
    entries = _entries(usable.keys)
    if not usable.disconnected:
        return _View(caller, usable, entries, ())
    return _View(
        caller,
        usable,
        [entry for entry in entries if entry.integration not in usable.disconnected],
        [entry for entry in entries if entry.integration in usable.disconnected],
    )


def _entries(keys: UsableSet) -> Sequence[ListingEntry]:
    """Return the entries by full name, made once for a set and a listing."""
    listing = listing_cache.at(keys.version)
    made_of, entries = keys.entries
    if made_of is not listing:
        # A listing newer than the rights may lack capabilities uninstalled meanwhile.
        usable = (listing.entries[pk] for pk in keys.ids if pk in listing.entries)
        entries = sorted(usable, key=attrgetter("full_name"))
        keys.entries = listing, entries
    return entries


def _describe_entries(
    view: _View, entries: Sequence[ListingEntry], detail: Detail
) -> list[dict[str, Any]]:
    readiness = view.readiness_of_all(entries)
    return [
        describe_capability(entry, readiness=readiness[entry.pk], detail=detail)
        for entry in entries
    ]


def _describe_rows(
    caller: Caller, view: _View, entries: Sequence[ListingEntry], detail: Detail, *, examples: bool
) -> list[dict[str, Any]]:
    keys = [entry.pk for entry in entries]
    rows = {row.pk: row for row in read_usable(caller, keys=keys)}
    readiness = view.readiness_of_all(entries)
    groups = _count_groups(caller, list(rows), detail)
    return [
        describe_capability(
            entry,
            readiness=readiness[entry.pk],
            detail=detail,
            row=rows[entry.pk],
            examples=examples,
            groups=groups.get(entry.pk, 1),
        )
        for entry in entries
        if entry.pk in rows
    ]


def _count_groups(caller: Caller, keys: Sequence[int], detail: Detail) -> dict[int, int]:
    return count_groups(caller, keys) if keys and detail == "full_schema" else {}


def _describe_row(row: Capability, detail: Detail, examples: bool, groups: int) -> dict[str, Any]:
    readiness: ToolReadiness = row.readiness  # type: ignore[attr-defined]
    return describe_capability(
        build_entry(row),
        readiness=readiness,
        detail=detail,
        row=row,
        examples=examples,
        groups=groups,
    )


def _is_disconnected(row: Capability) -> bool:
    readiness: ToolReadiness = row.readiness  # type: ignore[attr-defined]
    return readiness.obstacle is Obstacle.NOT_CONNECTED


def _group_by(entries: Iterable[ListingEntry], name: str) -> list[tuple[str, list[ListingEntry]]]:
    by_name = attrgetter(name)
    return [(key, list(group)) for key, group in groupby(sorted(entries, key=by_name), key=by_name)]


def _mentions(entry: ListingEntry, query: str) -> bool:
    """Return True if names, description and tags contain every word."""
    if not query:
        return True
    texts = (entry.full_name, entry.display_name, entry.description, *entry.tags)
    text = " ".join(texts).casefold()
    return all(word in text for word in query.casefold().split())


def _index_version(view: _View) -> str:
    digest = hashlib.sha256()
    for entry in view.entries:
        ready = view.readiness_of(entry)
        texts = f"{entry.full_name} {entry.display_name} {entry.description}"
        facts = f"{texts} {entry.definition_hash} {ready.asks_first} {ready.state}"
        digest.update(f"{facts}\n".encode())
    return digest.hexdigest()[:16]
