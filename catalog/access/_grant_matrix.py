"""The matrix of groups and integrations, one window at a time.

It shows stored grants and defaults, which admins edit there. Only the rights statement knows what a
person may use.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from django.contrib.auth.models import Group
from django.db.models import Count, F, Q, QuerySet

from catalog.access.integration_readiness import IntegrationReadiness, readiness_for_admins
from catalog.models import (
    CapabilityGroupPermission,
    Integration,
    IntegrationGroupPermission,
    Rule,
)

ROWS, COLUMNS = 40, 8
ROWS_OF_A_GROUP = 200  # a row has one cell then
# Keys of a group and an integration.
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class MatrixWindow:
    """The requested window and filters; empty fields mean all, or the beginning."""

    words: str = ""
    group_words: str = ""
    show: str = ""  # given, nobody, restricted, off
    page: int = 1
    column: int = 1
    group: int | None = None  # only this one

    @property
    def rows(self) -> int:
        """Number of integrations on a page."""
        return ROWS if self.group is None else ROWS_OF_A_GROUP


@dataclass(frozen=True, slots=True)
class MatrixColumn:
    """A group and its default."""

    group: Group
    is_open: bool
    members: int


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """The grants of one group on one integration."""

    column: MatrixColumn
    granted: bool
    by_default: bool
    tools: int  # single capabilities that the group was given
    rules: int  # in the group's spaces, about the integration or a capability of it


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """An integration and its cells."""

    integration: Integration
    tools: int
    usable: bool
    standing: IntegrationReadiness | None  # None without a usable tool
    cells: tuple[MatrixCell, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """A window of the matrix, and the size of both sides."""

    columns: tuple[MatrixColumn, ...]
    rows: tuple[MatrixRow, ...]
    groups: int
    integrations: int
    page: int
    pages: int
    column: int
    column_pages: int


def access_matrix(window: MatrixWindow) -> Matrix:
    """Return the window, in a constant number of statements."""
    groups, integrations = _groups(window), _integrations(window)
    group_count, integration_count = groups.count(), integrations.count()
    column, column_pages = _clamp_page(window.column, group_count, COLUMNS)
    page, pages = _clamp_page(window.page, integration_count, window.rows)
    columns = tuple(
        MatrixColumn(group, bool(group.is_open), group.members)  # type: ignore[attr-defined]
        for group in groups[(column - 1) * COLUMNS : column * COLUMNS]
    )
    page_items = list(integrations[(page - 1) * window.rows : page * window.rows])
    return Matrix(
        columns=columns,
        rows=_build_rows(page_items, columns),
        groups=group_count,
        integrations=integration_count,
        page=page,
        pages=pages,
        column=column,
        column_pages=column_pages,
    )


def grants_to_groups(
    groups: Collection[int], integrations: Collection[int] | None = None
) -> set[Pair]:
    """Return the granted pairs among these groups and integrations (None: all)."""
    grants = IntegrationGroupPermission.objects.filter(
        group__in=groups, permission__codename="use_integration"
    )
    if integrations is not None:
        grants = grants.filter(content_object__in=integrations)
    return set(grants.values_list("group_id", "content_object_id"))


def _groups(window: MatrixWindow) -> "QuerySet[Group]":
    groups = Group.objects.all()
    if window.group is not None:
        groups = groups.filter(pk=window.group)
    for word in window.group_words.split()[:8]:
        groups = groups.filter(name__icontains=word)
    members = Count("user", filter=Q(user__is_active=True))
    return groups.annotate(is_open=F("policy__open_default"), members=members).order_by(
        "name", "pk"
    )


def _integrations(window: MatrixWindow) -> "QuerySet[Integration]":
    integrations = Integration.objects.filter(owner=None)
    for word in window.words.split()[:8]:
        integrations = integrations.filter(Q(slug__icontains=word) | Q(title__icontains=word))
    usable = Q(enabled=True, state="approved")
    grants = IntegrationGroupPermission.objects.all()
    if window.group is not None:
        grants = grants.filter(group=window.group)
    granted = Q(pk__in=grants.values("content_object"))
    condition = {
        "given": granted,
        "nobody": ~granted,
        "restricted": Q(restricted=True),
        "off": ~usable,
    }.get(window.show, Q())
    counted = integrations.filter(condition).annotate(
        tools=Count("capabilities"), picture=F("icon__image")
    )
    return counted.order_by("title", "pk")


def _build_rows(
    integrations: list[Integration], columns: tuple[MatrixColumn, ...]
) -> tuple[MatrixRow, ...]:
    groups = [column.group.pk for column in columns]
    keys = [integration.pk for integration in integrations]
    granted = grants_to_groups(groups, keys)
    about = Q(integration__in=keys) | Q(capability__integration__in=keys)
    pairs = Rule.objects.filter(about, space__group__in=groups).values_list(
        "space__group_id", "integration_id", "capability__integration_id"
    )
    grants = CapabilityGroupPermission.objects.filter(
        group__in=groups,
        content_object__integration__in=keys,
        permission__codename="use_capability",
    )
    tools, rules = (
        Counter(grants.values_list("group_id", "content_object__integration_id")),
        Counter((group, whole or of or 0) for group, whole, of in pairs),
    )
    standing = readiness_for_admins(keys)

    def cell(column: MatrixColumn, integration: Integration) -> MatrixCell:
        pair = (column.group.pk, integration.pk)
        by_default = column.is_open and not integration.restricted
        return MatrixCell(column, pair in granted, by_default, tools[pair], rules[pair])

    return tuple(
        MatrixRow(
            integration=integration,
            tools=integration.tools,  # type: ignore[attr-defined]
            usable=integration.enabled and integration.state == "approved",
            standing=standing.get(integration.pk),
            cells=tuple(cell(column, integration) for column in columns),
        )
        for integration in integrations
    )


def _clamp_page(page: int, count: int, size: int) -> tuple[int, int]:
    """Clamp a page number; return it with the number of pages."""
    pages = max(1, -(-count // size))
    return min(max(1, page), pages), pages
