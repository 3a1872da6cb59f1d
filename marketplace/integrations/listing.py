"""List of integrations for admins, with status, tools and access."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import (
    CharField,
    Count,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce, Now

from catalog.access.integration_readiness import IntegrationReadiness, readiness_for_admins
from catalog.models import (
    Capability,
    Integration,
    IntegrationGroupPermission,
    IntegrationUserPermission,
)
from catalog.readiness.obstacles import Obstacle, obstacle_sql
from discovery.insights.integration_use import IntegrationUse, use_by_integration
from discovery.models import Call
from marketplace.integrations._status import IntegrationStatus, describe_status
from marketplace.models import Installation, Listing

_OBSTACLE = obstacle_sql(integration="catalog_integration", user="NULL::bigint")
UNUSED_DAYS = 30
_WORKING = [state.value for state in Installation.WORKING]


@dataclass(frozen=True, slots=True)
class IntegrationFilters:
    """Filters of the list. An empty value does not filter."""

    words: str = ""
    kind: str = ""
    show: str = ""  # works, trouble, needs_admin, waiting, off, update, unused


@dataclass(frozen=True, slots=True)
class IntegrationRow:
    """A row of the list."""

    integration: Integration
    standing: IntegrationStatus
    tools: int
    tool_states: str  # of the tools, with numbers if there are several: "Ready: 3, Asks first: 1"
    tools_differ: bool  # in their states, so that the status alone does not say them
    groups: tuple[str, ...]
    people: int
    update: str
    use: IntegrationUse


def list_integrations(filters: IntegrationFilters) -> "QuerySet[Integration]":
    """Return matching integrations by title."""
    fitting = with_installations(Integration.objects.all())
    if filters.kind:
        fitting = fitting.filter(kind=filters.kind)
    for word in filters.words.split()[:8]:
        fitting = fitting.filter(
            Q(title__icontains=word) | Q(slug__icontains=word) | Q(publisher__icontains=word)
        )
    if filters.show == "unused":
        since = Now() - timedelta(days=UNUSED_DAYS)
        fitting = fitting.filter(~Exists(_calls().filter(created_at__gte=since)), enabled=True)
    if filters.show in _SHOWN:
        fitting = fitting.filter(_SHOWN[filters.show])
    # Counted for each row that is shown: a join would work out the states of all rows to group.
    tools = Capability.objects.filter(integration=OuterRef("pk")).order_by().values("integration")
    number = Subquery(tools.values(number=Count("pk")), output_field=IntegerField())
    return fitting.annotate(tools=Coalesce(number, 0), picture=F("icon__image")).order_by(
        "title", "pk"
    )


def _calls() -> "QuerySet[Call]":
    return Call.objects.filter(capability__integration=OuterRef("pk"))


def with_installations(integrations: "QuerySet[Integration]") -> "QuerySet[Integration]":
    """Annotate the state and message of the last installation, and the listing's version."""
    last = Installation.objects.filter(integration=OuterRef("pk")).order_by("-created_at", "-pk")
    listed = Listing.objects.filter(slug=OuterRef("listing")).exclude(version="").order_by("pk")
    return integrations.annotate(
        install_state=_text(last.values("state")[:1]),
        install_message=_text(last.values("message")[:1]),
        listed_version=_text(listed.values("version")[:1]),
        # Of a person without secrets and accounts of their own. The names in it are our own.
        obstacle=RawSQL(_OBSTACLE, [], output_field=IntegerField()),  # noqa: S611
    )


def rows_of(integrations: Sequence[Integration]) -> list[IntegrationRow]:
    """Build the rows, with four statements for any number of integrations."""
    keys = [integration.pk for integration in integrations]
    groups, people, states = _groups(keys), _people(keys), readiness_for_admins(keys)
    uses = use_by_integration(keys)
    return [
        IntegrationRow(
            integration,
            status_of_row(integration),
            integration.tools,  # type: ignore[attr-defined]
            _tool_states(states.get(integration.pk)),
            len(states[integration.pk].tools) > 1 if integration.pk in states else False,
            tuple(groups[integration.pk]),
            people.get(integration.pk, 0),
            update_of(integration),
            uses.get(integration.pk, IntegrationUse()),
        )
        for integration in integrations
    ]


def _tool_states(readiness: IntegrationReadiness | None) -> str:
    if readiness is None:
        return ""
    return readiness.sentence if len(readiness.tools) > 1 else readiness.label


def status_of_row(integration: Integration) -> IntegrationStatus:
    """Return the status of an integration annotated by `with_installations`."""
    obstacle = Obstacle(integration.obstacle)  # type: ignore[attr-defined]
    state, message = integration.install_state, integration.install_message  # type: ignore[attr-defined]
    return describe_status(integration, obstacle, state, message)


def update_of(integration: Integration) -> str:
    """Return the newer version that the listing offers, or ""."""
    listed = str(integration.listed_version)  # type: ignore[attr-defined]
    return listed if listed != integration.version else ""


def _text(query: "QuerySet[Installation | Listing, object]") -> Coalesce:
    return Coalesce(Subquery(query, output_field=CharField()), Value(""))


def _groups(integrations: list[int]) -> dict[int, list[str]]:
    names: dict[int, list[str]] = defaultdict(list)
    granted = IntegrationGroupPermission.objects.filter(
        content_object__in=integrations, permission__codename="use_integration"
    )
    pairs = granted.order_by("group__name").values_list("content_object_id", "group__name")
    for integration, name in pairs.distinct():
        names[integration].append(name)
    return names


def _people(integrations: list[int]) -> dict[int, int]:
    granted = IntegrationUserPermission.objects.filter(
        content_object__in=integrations, permission__codename="use_integration"
    )
    counted = granted.values("content_object_id").annotate(people=Count("user", distinct=True))
    return dict(counted.order_by().values_list("content_object_id", "people"))


_APPROVED, _BUSY = Q(state="approved"), Q(install_state__in=_WORKING)
_TROUBLE = Q(enabled=True, obstacle__gt=0) & _APPROVED
# A secret or an account that each person needs is theirs to give.
_PERSONAL = Q(obstacle__in=[each.value for each in Obstacle if each.mended_by_caller])
_FAILED_INSTALL = ~_APPROVED & Q(install_state="failed")
_SHOWN = {
    "works": Q(enabled=True, obstacle=0) & _APPROVED & ~_BUSY,
    "trouble": (_TROUBLE & ~_BUSY) | _FAILED_INSTALL,
    "needs_admin": (_TROUBLE & ~_BUSY & ~_PERSONAL) | _FAILED_INSTALL,
    "waiting": ~_APPROVED & ~_BUSY & ~Q(install_state__in=("failed", "cancelled")),
    "off": Q(enabled=False) & _APPROVED & ~_BUSY,
    "update": ~Q(listed_version="") & ~Q(listed_version=F("version")),
}
