"""List of integrations for admins, with status, tools and access."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.humanize.templatetags.humanize import naturaltime
from django.db.models import (
    BooleanField,
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
from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

from catalog.access.integration_readiness import IntegrationReadiness, readiness_for_admins
from catalog.models import (
    Capability,
    Integration,
    IntegrationGroupPermission,
    IntegrationUserPermission,
)
from catalog.models.integration import ReviewState
from catalog.readiness.obstacles import (
    BUILT_INS,
    OWN_INTEGRATIONS,
    Obstacle,
    obstacle_sql,
    runs_here_sql,
)
from catalog.readiness.readiness import SEVERAL
from discovery.insights.use import IntegrationUse, use_by_integration
from discovery.models import Call
from marketplace.models import Installation, Listing

# Status of an integration: pure, from its row and its last installation.


@dataclass(frozen=True, slots=True)
class IntegrationStatus:
    """A status: `label` for the badge, `words` as a sentence, `tone` and `icon` for display."""

    label: str
    words: str
    tone: str
    icon: str


def describe_status(
    integration: Integration, obstacle: Obstacle, install_state: str, install_message: str
) -> IntegrationStatus:
    """Return the first problem that keeps it from working, or that it works.

    `obstacle` is that of a person without secrets and accounts of their own.
    """
    if install_state in Installation.WORKING:
        return IntegrationStatus(_("installing"), install_message, "note", "refresh-cw")
    if integration.state != ReviewState.APPROVED:
        return _not_approved(integration, install_state, install_message)
    if not integration.enabled:
        return IntegrationStatus(_("off"), _("It is switched off: nobody can use it."), "", "ban")
    if obstacle is not Obstacle.NONE:
        return _obstructed(integration, obstacle)
    if not integration.transport:
        return _without_server(integration)
    if integration.health_checked_at is None:
        words = _("No check has run, and no tool was called yet.")
        return IntegrationStatus(_("never checked"), words, "", "circle")
    words = _("The last check succeeded %(time)s.")
    age = {"time": naturaltime(integration.health_checked_at)}
    return IntegrationStatus(_("ready"), words % age, "good", "check")


def _not_approved(integration: Integration, state: str, message: str) -> IntegrationStatus:
    if integration.state == ReviewState.QUARANTINED:
        words = _("It is in quarantine: nobody can use it until an admin has reviewed it.")
        return IntegrationStatus(_("in quarantine"), words, "danger", "triangle-alert")
    if state == Installation.State.NEEDS_SECRET:
        return IntegrationStatus(_("needs a secret"), message, "caution", "key-round")
    if state == Installation.State.FAILED:
        return IntegrationStatus(_("not installed"), message, "danger", "circle-x")
    if state == Installation.State.CANCELLED:
        return IntegrationStatus(
            _("not installed"), _("The installation was cancelled."), "", "ban"
        )
    words = _("Nobody can use it until an admin has approved it.")
    return IntegrationStatus(_("needs approval"), words, "caution", "hand")


def _obstructed(integration: Integration, obstacle: Obstacle) -> IntegrationStatus:
    match obstacle:
        case Obstacle.NOT_CONFIRMED:
            words = _(
                "It was imported, and no admin has confirmed it yet. Pegboard describes its tools, "
                "but does not contact or start it."
            )
            return IntegrationStatus(_("not confirmed"), words, "caution", "hand")
        case Obstacle.NOT_CONNECTED:
            words = _("It is not connected. Its tools are left out until it is.")
            return IntegrationStatus(_("not connected"), words, "caution", "unplug")
        case Obstacle.OWN_SECRET | Obstacle.OWN_ACCOUNT:
            words = _("Each person needs a secret or an account of their own to use it.")
            return IntegrationStatus(_("personal"), words, "note", "key-round")
        case Obstacle.SHARED_SECRET:
            words = _("It cannot run until these secrets are set: %(names)s.")
            names = {"names": ", ".join(integration.required_secrets)}
            return IntegrationStatus(_("needs a secret"), words % names, "caution", "key-round")
        case Obstacle.SHARED_ACCOUNT:
            words = _("It cannot run until an admin signs in to it.")
            return IntegrationStatus(_("needs sign-in"), words, "caution", "key-round")
        case Obstacle.NOT_ALLOWED:
            words = _(integration.health) if integration.health else _("It may not be started.")
            return IntegrationStatus(_("not allowed"), words, "danger", "ban")
    words = _(integration.health) if integration.health else _("It does not respond.")
    return IntegrationStatus(_("failing"), words + _since(integration), "danger", "circle-alert")


def _since(integration: Integration) -> str:
    since = integration.failing_since
    if since is None or timezone.now() - since < timedelta(minutes=1):
        return ""
    age = timesince(since, depth=1)
    if integration.failures < SEVERAL:
        return " " + _("Failing for %(time)s.") % {"time": age}
    values = {"time": age, "count": integration.failures}
    return " " + _("Failing for %(time)s, %(count)s times in a row.") % values


def is_only_described(integration: Integration) -> bool:
    """Return True if nothing here carries out its calls."""
    runs_itself = integration.kind == Integration.Kind.SKILL
    slugs = (*OWN_INTEGRATIONS, *BUILT_INS)
    return not integration.transport and not runs_itself and integration.slug not in slugs


def _without_server(integration: Integration) -> IntegrationStatus:
    if is_only_described(integration):
        words = _("Pegboard describes its tools. Your application carries out their calls.")
        return IntegrationStatus(_("carried out by your application"), words, "", "info")
    if integration.slug in BUILT_INS:
        return IntegrationStatus(_("ready"), _("Pegboard runs its tools itself."), "good", "check")
    words = _("Pegboard answers its calls itself.")
    return IntegrationStatus(_("ready"), words, "good", "check")


_OBSTACLE = obstacle_sql(integration="catalog_integration", user="NULL::bigint")
# `is_only_described` of a row, for the order of the list.
_ONLY_DESCRIBED = f"""catalog_integration.kind <> 'skill'
  AND NOT {runs_here_sql(integration="catalog_integration")}"""
UNUSED_DAYS = 30
_WORKING = [state.value for state in Installation.WORKING]


@dataclass(frozen=True, slots=True)
class IntegrationFilters:
    """Filters of the list. An empty value does not filter."""

    words: str = ""
    kind: str = ""
    show: str = ""  # works, trouble, needs_admin, waiting, off, update, unused
    owner: int | None = None  # only their own servers


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
    """Return matching integrations by title, those that nothing here carries out last."""
    fitting = with_installations(Integration.objects.select_related("owner"))
    if filters.owner is not None:
        fitting = fitting.filter(owner=filters.owner)
    if filters.kind:
        fitting = fitting.filter(kind=filters.kind)
    for word in filters.words.split()[:8]:
        fitting = fitting.filter(
            Q(title__icontains=word) | Q(slug__icontains=word) | Q(publisher__icontains=word)
        )
    if filters.show == "unused":
        since = Now() - timedelta(days=UNUSED_DAYS)
        fitting = fitting.filter(
            ~Exists(
                Call.objects.filter(capability__integration=OuterRef("pk")).filter(
                    created_at__gte=since
                )
            ),
            enabled=True,
        )
    if filters.show in _SHOWN:
        fitting = fitting.filter(_SHOWN[filters.show])
    # Counted for each row that is shown: a join would work out the states of all rows to group.
    tools = Capability.objects.filter(integration=OuterRef("pk")).order_by().values("integration")
    number = Subquery(tools.values(number=Count("pk")), output_field=IntegerField())
    return fitting.annotate(
        tools=Coalesce(number, 0),
        picture=F("icon__image"),
        only_described=RawSQL(_ONLY_DESCRIBED, [], output_field=BooleanField()),  # noqa: S611
    ).order_by("only_described", "title", "pk")


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
    granted = IntegrationUserPermission.objects.filter(
        content_object__in=keys, permission__codename="use_integration"
    )
    counted = granted.values("content_object_id").annotate(people=Count("user", distinct=True))
    groups, people, states = (
        _groups(keys),
        dict(counted.order_by().values_list("content_object_id", "people")),
        readiness_for_admins(keys),
    )
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
