"""Work that waits for an admin or a person, beside calls: a section of rows for each kind.

Each section takes two statements however many rows there are: its first rows, and their number.
"""

from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import Count, Exists, IntegerField, OuterRef, Q
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from acl.keys.key_list import KeyFilter, list_keys
from acl.models import AccessRequest, ApiKey
from acl.rights.caller import Caller
from catalog.lifecycle.runtime_state import NOT_OVER
from catalog.models import Capability, Definition, Integration, RuntimeCapability, ServerProposal
from catalog.models.integration import ReviewState
from catalog.readiness.obstacles import Obstacle, obstacle_sql
from discovery.models import OutcomeAlert
from marketplace.integrations.integration_list import (
    IntegrationFilters,
    list_integrations,
    status_of_row,
    update_of,
)
from marketplace.models import Installation

MOST = 8
ALERTS_OF = timedelta(days=1)
ANSWERS_OF = timedelta(days=7)
# A person's own secret or account is theirs to give: no admin can.
_PERSONAL = (Obstacle.OWN_SECRET.value, Obstacle.OWN_ACCOUNT.value)
_UNDECIDED = (RuntimeCapability.State.PROPOSED, RuntimeCapability.State.TRIED)


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its name, what is the matter, and the link that handles it."""

    title: str
    words: str
    address: str
    action: str
    label: str = ""
    tone: str = ""
    icon: str = ""
    value: str = ""  # of its checkbox


@dataclass(frozen=True, slots=True)
class Section:
    """The first rows of a kind, the number of all, and the page that has them all."""

    rows: tuple[Row, ...] = ()
    count: int = 0
    address: str = ""

    @property
    def more(self) -> int:
        """Return how many rows are left out."""
        return self.count - len(self.rows)


@dataclass(frozen=True, slots=True)
class OpenRequests:
    """The oldest open access requests, and the number of all."""

    rows: tuple[AccessRequest, ...] = ()
    count: int = 0


def open_requests() -> OpenRequests:
    """Return the access requests without an answer."""
    found = AccessRequest.objects.filter(state=AccessRequest.State.OPEN)
    rows = found.select_related("user", "group").order_by("created_at", "pk")[:MOST]
    return OpenRequests(tuple(rows), found.count())


def troubled_integrations() -> Section:
    """Return the integrations that an admin has to mend: failing, or without secret or sign-in."""
    found = list_integrations(IntegrationFilters(show="needs_admin"))
    rows = tuple(_troubled(one) for one in found[:MOST])
    return Section(rows, found.count(), f"{reverse('integrations')}?show=trouble")


def _troubled(one: Integration) -> Row:
    status, address = status_of_row(one), reverse("integration", args=[one.slug])
    action, value = _("Show problem"), ""
    match Obstacle(one.obstacle):  # type: ignore[attr-defined]
        case Obstacle.NOT_CONFIRMED:
            address, action = reverse("integration-confirm", args=[one.slug]), _("Review target")
        case Obstacle.SHARED_SECRET:
            address, action = f"{address}#secrets", _("Set secret")
        case Obstacle.SHARED_ACCOUNT:
            address, action = f"{address}#account", _("Sign in")
        case Obstacle.FAILING:
            value = one.slug
    return Row(
        one.title, status.words, address, action, status.label, status.tone, status.icon, value
    )


def reviews() -> Section:
    """Return integrations with definitions to review, then what else waits for a decision."""
    waiting = Q(definitions__standing__in=Definition.WAITING)
    found = Integration.objects.annotate(
        waiting=Count("definitions", filter=waiting, distinct=True)
    )
    found = found.filter(Q(waiting__gt=0) | Q(state=ReviewState.QUARANTINED))
    rows = [_review(one) for one in found.order_by("title", "pk")[:MOST]]
    installs = Installation.objects.filter(state=Installation.State.NEEDS_APPROVAL)
    proposals = ServerProposal.objects.filter(state=ServerProposal.State.OPEN)
    ready = Capability.objects.filter(full_name=OuterRef("full_name"), state=ReviewState.APPROVED)
    made = RuntimeCapability.objects.filter(NOT_OVER, Exists(ready), state__in=_UNDECIDED)
    others = (
        _others(installs.count(), "integrations", _("Installations that wait for approval")),
        _others(proposals.count(), "proposals", _("Servers that assistants proposed")),
        _others(made.count(), "runtime-tools", _("Tools made at runtime")),
    )
    more = [row for row in others if row is not None]
    return Section((*rows, *more), found.count() + len(more), reverse("integrations"))


def _review(one: Integration) -> Row:
    number = one.waiting  # type: ignore[attr-defined]
    words = ngettext(
        "%(count)s definition waits for a review.",
        "%(count)s definitions wait for a review.",
        number,
    )
    address = reverse("integration-review", args=[one.slug])
    return Row(one.title, words % {"count": number}, address, _("Review changes"))


def _others(number: int, page: str, title: str) -> Row | None:
    words = ngettext("%(count)s is waiting.", "%(count)s are waiting.", number) % {"count": number}
    return Row(title, words, reverse(page), _("Review")) if number else None


def updates() -> Section:
    """Return the integrations whose listing offers a newer version."""
    found = list_integrations(IntegrationFilters(show="update"))
    rows = tuple(
        Row(
            one.title,
            _("From %(version)s to %(newer)s.")
            % {"version": one.version or _("an unknown version"), "newer": update_of(one)},
            reverse("integration-update", args=[one.slug]),
            _("Review update"),
        )
        for one in found[:MOST]
    )
    return Section(rows, found.count(), f"{reverse('integrations')}?show=update")


def alerts() -> Section:
    """Return the newest alert of each window, of the last day."""
    newest = OutcomeAlert.objects.filter(at__gte=Now() - ALERTS_OF)
    newest = newest.order_by("scope", "-at", "-pk").distinct("scope")
    found = list(newest.select_related("group"))
    rows = tuple(_alert(one) for one in found[:MOST])
    return Section(rows, len(found), reverse("insights-outcomes"))


def _alert(one: OutcomeAlert) -> Row:
    critical = one.severity == OutcomeAlert.Severity.CRITICAL
    words = _("Weighted rate %(value)s, below %(threshold)s, of %(samples)s turns.") % {
        "value": f"{one.value:.2f}",
        "threshold": f"{one.threshold:.2f}",
        "samples": one.samples,
    }
    return Row(
        one.group.name if one.group else _("Everyone"),
        f"{words} {date_format(localtime(one.at), 'j F, H:i')}",
        reverse("insights-outcomes"),
        _("Show outcomes"),
        _("critical") if critical else _("warning"),
        "danger" if critical else "caution",
        "triangle-alert",
    )


def ending_keys(person: User) -> Section:
    """Return keys that expire within a week: all for staff, else the person's own."""
    found = list_keys(KeyFilter(show="ending"))
    if not person.is_staff:
        found = found.filter(owner=person)
    rows = tuple(_key(one, person) for one in found.order_by("expires_at", "pk")[:MOST])
    return Section(rows, found.count(), f"{reverse('keys')}?show=ending" if person.is_staff else "")


def _key(one: ApiKey, person: User) -> Row:
    expires = localtime(one.expires_at) if one.expires_at else None
    words = _("Expires %(time)s.") % {"time": date_format(expires, "j F, H:i") if expires else ""}
    if not person.is_staff:
        # Only admins make keys: the person has to ask one.
        return Row(one.name, words, reverse("requests"), _("Request a new key"))
    return Row(one.name, words, reverse("key-replace", args=[one.pk]), _("Replace key"))


def missing_connections(person: User, caller: Caller | None) -> Section:
    """Return the integrations that wait for the person's own secret or account."""
    if caller is None:
        return Section()
    obstacle = obstacle_sql(integration="catalog_integration", user=f"{person.pk:d}::bigint")
    reachable = Capability.objects.reachable_by(caller, unavailable=True)
    found = (
        Integration.objects.filter(
            own_secrets=True,
            enabled=True,
            state=ReviewState.APPROVED,
            pk__in=reachable.values("integration"),
        )
        # The names in it are our own, and a number.
        .annotate(obstacle=RawSQL(obstacle, [], output_field=IntegerField()))  # noqa: S611
        .filter(obstacle__in=_PERSONAL)
    )
    rows = tuple(_connection(one) for one in found.order_by("title", "pk")[:MOST])
    return Section(rows, found.count(), reverse("my-secrets"))


def _connection(one: Integration) -> Row:
    address = reverse("my-secret", args=[one.slug])
    if one.obstacle == Obstacle.OWN_ACCOUNT:  # type: ignore[attr-defined]
        return Row(one.title, _("It needs your sign-in."), address, _("Sign in"))
    return Row(one.title, _("It needs a secret of yours."), address, _("Set secret"))


def own_requests(person: User) -> tuple[AccessRequest, ...]:
    """Return the person's open requests, and those answered within a week, newest first."""
    mine = AccessRequest.objects.filter(user=person).select_related("group", "answered_by")
    recent = Q(state=AccessRequest.State.OPEN) | Q(answered_at__gte=Now() - ANSWERS_OF)
    return tuple(mine.filter(recent).order_by("-created_at", "-pk")[:MOST])
