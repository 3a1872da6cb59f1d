"""A person's tools: what they may use, why, and what each tool lacks."""

from dataclasses import dataclass

from django.db.models import Count, Q

from acl.rights.caller import Caller
from catalog.access.grounds import Ground, grounds_for
from catalog.models import Capability
from catalog.querysets import CapabilityQuerySet

PAGE_SIZE = 50
# Large columns that lists do not show.
_NOT_LISTED = ("input_schema", "output_schema", "content", "examples", "annotations", "source_ref")


@dataclass(frozen=True, slots=True)
class ToolFilters:
    """Filters of a person's tools; empty fields mean all."""

    words: str = ""
    category: str = ""
    kind: str = ""
    show: str = ""  # runs, asks, missing
    page: int = 1


@dataclass(frozen=True, slots=True)
class MyTool:
    """A usable capability, its ground, and what it lacks."""

    capability: Capability
    ground: Ground
    asks_first: bool
    missing: tuple[str, ...]
    secrets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MyTools:
    """A page of tools. `categories` counts the matches of the other filters."""

    tools: tuple[MyTool, ...]
    categories: tuple[tuple[str, int], ...]
    count: int
    everywhere: int
    page: int
    pages: int


def list_my_tools(*, caller: Caller, wanted: ToolFilters) -> MyTools:
    """Return a page of the caller's matching tools, by category and name."""
    matches = _filter_tools(caller, wanted)
    counts = matches.order_by("category").values_list("category").annotate(number=Count("pk"))
    categories = tuple(counts)
    everywhere = sum(number for _, number in categories)
    count = dict(categories).get(wanted.category, 0) if wanted.category else everywhere
    pages = max(1, -(-count // PAGE_SIZE))
    page = min(max(1, wanted.page), pages)
    start = (page - 1) * PAGE_SIZE
    rows = (
        matches.in_category(wanted.category)
        .with_access(caller, unavailable=True)
        .select_related("integration")
        .defer(*_NOT_LISTED)
        .order_by("category", "display_name", "pk")[start : start + PAGE_SIZE]
    )
    return MyTools(_with_grounds(caller, list(rows)), categories, count, everywhere, page, pages)


def find_my_tool(*, caller: Caller, full_name: str) -> MyTool | None:
    """Return a tool of the caller; None if it does not exist or is not theirs."""
    # Unavailable tools are included: the page shows what they lack.
    usable = Capability.objects.usable_by(caller, unavailable=True).filter(full_name=full_name)
    rows = list(usable.with_access(caller, unavailable=True).select_related("integration"))
    return _with_grounds(caller, rows)[0] if rows else None


def _filter_tools(caller: Caller, wanted: ToolFilters) -> CapabilityQuerySet:
    matches = Capability.objects.usable_by(caller, unavailable=True)
    matches = matches.of_kind(wanted.kind).mentioning(wanted.words)
    if wanted.show == "missing":
        return matches.filter(Q(available=False) | _BROKEN)
    if wanted.show in {"runs", "asks"}:
        matches = matches.with_access(caller, unavailable=True)
        return matches.filter(Q(asks_first=wanted.show == "asks"))
    return matches


_BROKEN = Q(integration__connection__in=["disconnected", "failing"])


def _with_grounds(caller: Caller, rows: list[Capability]) -> tuple[MyTool, ...]:
    grounds = grounds_for(caller=caller, capabilities=rows) if rows else {}
    return tuple(
        MyTool(
            capability=row,
            ground=grounds[row.pk],
            asks_first=bool(getattr(row, "asks_first", False)),
            missing=tuple(_missing(row)),
            secrets=_secrets(row),
        )
        for row in rows
    )


def _secrets(row: Capability) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*row.integration.required_secrets, *row.required_secrets]))


def _missing(row: Capability) -> list[str]:
    problems = []
    if not row.available:
        problems.append(row.unavailable_reason or "It is not available at the moment.")
    if row.integration.connection == "disconnected":
        problems.append(f"{row.integration.title} is not connected.")
    if row.integration.connection == "failing":
        problems.append(row.integration.health or f"{row.integration.title} does not answer.")
    return problems
