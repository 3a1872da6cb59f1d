"""Requests, failing integrations and missing connections: a section of rows for each kind.

Each section takes two statements however many rows there are: its first rows, and their number.
"""

from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import F, IntegerField, Q
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext as _

from acl.models import AccessRequest
from acl.rights.caller import Caller
from catalog.icons.faces import face_of
from catalog.models import Capability, Integration
from catalog.models.integration import ReviewState
from catalog.readiness.obstacles import Obstacle, obstacle_sql
from marketplace.integrations.integration_list import (
    IntegrationFilters,
    list_integrations,
    status_of_row,
)
from marketplace.today.section import MOST, Row, Section

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
    told = status.label, status.tone, status.icon
    return Row(one.title, status.words, address, action, *told, value, face=face_of(one))


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
        .annotate(
            obstacle=RawSQL(obstacle, [], output_field=IntegerField()),  # noqa: S611
            picture=F("icon__image"),
        )
        .filter(obstacle__in=_PERSONAL)
    )
    rows = tuple(_connection(one) for one in found.order_by("title", "pk")[:MOST])
    return Section(rows, found.count(), reverse("my-secrets"))


def _connection(one: Integration) -> Row:
    address = reverse("my-secret", args=[one.slug])
    if one.obstacle == Obstacle.OWN_ACCOUNT:  # type: ignore[attr-defined]
        words, action = _("It needs your sign-in."), _("Sign in")
    else:
        words, action = _("It needs a secret from you."), _("Set secret")
    return Row(one.title, words, address, action, face=face_of(one))


def own_requests(person: User) -> tuple[AccessRequest, ...]:
    """Return the person's open requests, and those answered within a week, newest first."""
    mine = AccessRequest.objects.filter(user=person).select_related("group", "answered_by")
    recent = Q(state=AccessRequest.State.OPEN) | Q(answered_at__gte=Now() - ANSWERS_OF)
    return tuple(mine.filter(recent).order_by("-created_at", "-pk")[:MOST])
