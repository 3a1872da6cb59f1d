"""The work of a person today. The number of statements does not depend on the rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, IntegerField, Q
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.formats import date_format, number_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.models import AccessRequest
from acl.rights.caller_lookup import Caller
from catalog.icons import face_of
from catalog.models import Capability, Integration
from catalog.models.integration import ReviewState
from catalog.readiness.obstacles import Obstacle, obstacle_sql
from discovery.models import OutcomeAlert
from marketplace.integrations.listing import IntegrationFilters, list_integrations, status_of_row
from marketplace.today._pending_reviews import list_reviews, list_updates
from marketplace.today._section import (
    MOST,
    PendingCalls,
    Row,
    Section,
    list_ending_keys,
    list_own_pending,
    list_to_decide,
    read_keys,
)

# Alerts of the last day that no admin has marked as seen.

ALERTS_OF = timedelta(days=1)


def list_alerts() -> Section:
    """Return the newest alert of each window, of the last day, unless it was seen."""
    newest = OutcomeAlert.objects.filter(at__gte=Now() - ALERTS_OF)
    newest = newest.order_by("scope", "-at", "-pk").distinct("scope")
    alerts = newest.select_related("group", "application")
    unseen = [alert for alert in alerts if alert.seen_at is None]
    rows = tuple(_row(alert) for alert in unseen[:MOST])
    return Section(rows, len(unseen), reverse("insights-outcomes"))


def _row(alert: OutcomeAlert) -> Row:
    critical = alert.severity == OutcomeAlert.Severity.CRITICAL
    words = _("Weighted rate %(value)s, below %(threshold)s, of %(samples)s turns.") % {
        "value": number_format(alert.value, 2),
        "threshold": number_format(alert.threshold, 2),
        "samples": number_format(alert.samples, force_grouping=True),
    }
    return Row(
        alert.whose or _("Everyone"),
        f"{words} {date_format(localtime(alert.at), 'DAY_TIME_FORMAT')}",
        reverse("insights-outcomes"),
        _("Show outcomes"),
        _("critical") if critical else _("warning"),
        "danger" if critical else "caution",
        "triangle-alert",
        choice=str(alert.pk),
    )


@transaction.atomic
def mark_alerts(*, by: User, keys: Sequence[str], is_seen: bool) -> list[str]:
    """Mark the chosen alerts as seen, or as unseen again; return the keys of those changed."""
    rows = OutcomeAlert.objects.filter(pk__in=read_keys(keys), seen_at__isnull=is_seen)
    alerts = list(rows.order_by("pk").select_for_update())
    rows = OutcomeAlert.objects.filter(pk__in=[alert.pk for alert in alerts])
    rows.update(seen_at=Now() if is_seen else None)
    for alert in alerts:
        record(by=by, action="alert.seen" if is_seen else "alert.unseen", target=alert.scope)
    return [str(alert.pk) for alert in alerts]


# Requests, failing integrations and missing connections: a section of rows for each kind.
# Each section takes two statements however many rows there are: its first rows, and their number.

ANSWERS_OF = timedelta(days=7)
# A person's own secret or account is theirs to give: no admin can.
_PERSONAL = (Obstacle.OWN_SECRET.value, Obstacle.OWN_ACCOUNT.value)


@dataclass(frozen=True, slots=True)
class OpenRequests:
    """The oldest open access requests, and the number of all."""

    rows: tuple[AccessRequest, ...] = ()
    count: int = 0


def open_requests() -> OpenRequests:
    """Return the access requests without an answer."""
    requests = AccessRequest.objects.filter(state=AccessRequest.State.OPEN)
    rows = requests.select_related("user", "group").order_by("created_at", "pk")[:MOST]
    return OpenRequests(tuple(rows), requests.count())


def troubled_integrations() -> Section:
    """Return the integrations that an admin has to mend: failing, or without secret or sign-in."""
    integrations = list_integrations(IntegrationFilters(show="needs_admin"))
    rows = tuple(_troubled(integration) for integration in integrations[:MOST])
    return Section(rows, integrations.count(), f"{reverse('integrations')}?show=trouble")


def _troubled(integration: Integration) -> Row:
    status, address = status_of_row(integration), reverse("integration", args=[integration.slug])
    action, value = _("Show problem"), ""
    match Obstacle(integration.obstacle):  # type: ignore[attr-defined]
        case Obstacle.NOT_CONFIRMED:
            address, action = (
                reverse("integration-confirm", args=[integration.slug]),
                _("Review target"),
            )
        case Obstacle.SHARED_SECRET:
            address, action = f"{address}#secrets", _("Set secret")
        case Obstacle.SHARED_ACCOUNT:
            address, action = f"{address}#account", _("Sign in")
        case Obstacle.FAILING:
            value = integration.slug
    status_parts = status.label, status.tone, status.icon
    return Row(
        integration.title,
        status.words,
        address,
        action,
        *status_parts,
        value,
        face=face_of(integration),
    )


def missing_connections(person: User, caller: Caller | None) -> Section:
    """Return the integrations that wait for the person's own secret or account."""
    if caller is None:
        return Section()
    obstacle = obstacle_sql(integration="catalog_integration", user=f"{person.pk:d}::bigint")
    reachable = Capability.objects.reachable_by(caller, unavailable=True)
    integrations = (
        Integration.objects.filter(
            own_secrets=True,
            enabled=True,
            state=ReviewState.APPROVED,
            pk__in=reachable.values("integration"),
        )
        # The names in it are our own, and a number.
        .annotate(
            obstacle=RawSQL(obstacle, [], output_field=IntegerField()),  # noqa: S611
            picture=F("icon__image"),
        )
        .filter(obstacle__in=_PERSONAL)
    )
    rows = tuple(
        _connection(integration) for integration in integrations.order_by("title", "pk")[:MOST]
    )
    return Section(rows, integrations.count(), reverse("my-secrets"))


def _connection(integration: Integration) -> Row:
    address = reverse("my-secret", args=[integration.slug])
    if integration.obstacle == Obstacle.OWN_ACCOUNT:  # type: ignore[attr-defined]
        words, action = _("It needs your sign-in."), _("Sign in")
    else:
        words, action = _("It needs a secret from you."), _("Set secret")
    return Row(integration.title, words, address, action, face=face_of(integration))


def own_requests(person: User) -> tuple[AccessRequest, ...]:
    """Return the person's open requests, and those answered within a week, newest first."""
    mine = AccessRequest.objects.filter(user=person).select_related("group", "answered_by")
    recent = Q(state=AccessRequest.State.OPEN) | Q(answered_at__gte=Now() - ANSWERS_OF)
    return tuple(mine.filter(recent).order_by("-created_at", "-pk")[:MOST])


@dataclass(frozen=True, slots=True)
class TodaysWork:
    """Rows that wait for a person. The first seven are empty for anyone but admins."""

    calls: PendingCalls = field(default_factory=PendingCalls)
    requests: OpenRequests = field(default_factory=OpenRequests)
    trouble: Section = field(default_factory=Section)
    reviews: Section = field(default_factory=Section)
    updates: Section = field(default_factory=Section)
    alerts: Section = field(default_factory=Section)
    keys: Section = field(default_factory=Section)
    connections: Section = field(default_factory=Section)
    own_calls: PendingCalls = field(default_factory=PendingCalls)
    own_requests: tuple[AccessRequest, ...] = ()

    @property
    def count(self) -> int:
        """Return how many things wait for the person. What they wait for themselves is not one."""
        parts = (
            self.calls, self.requests, self.trouble, self.reviews, self.updates, self.alerts,
            self.keys, self.connections,
        )  # fmt: skip
        return sum(part.count for part in parts)

    @property
    def is_empty(self) -> bool:
        """Return True if there is nothing to show."""
        return not (self.count or self.own_calls.count or self.own_requests)


def list_todays_work(*, person: User, caller: Caller | None) -> TodaysWork:
    """Return what waits for this person; `caller` is the person in all their groups."""
    own_work = {
        "keys": list_ending_keys(person),
        "connections": missing_connections(person, caller),
        "own_calls": list_own_pending(person),
        "own_requests": own_requests(person),
    }
    if not person.is_staff:
        return TodaysWork(**own_work)  # type: ignore[arg-type]
    return TodaysWork(
        calls=list_to_decide(person),
        requests=open_requests(),
        trouble=troubled_integrations(),
        reviews=list_reviews(),
        updates=list_updates(),
        alerts=list_alerts(),
        **own_work,  # type: ignore[arg-type]
    )
