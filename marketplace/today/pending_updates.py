"""Updates that listings offer, and starting several of them at once."""

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import gettext as _

from catalog.icons.faces import face_of
from catalog.models import Integration
from catalog.servers.client.launch_rules import CommandNotAllowedError
from catalog.servers.net.outgoing_errors import EndpointNotAllowedError
from marketplace.installs.install_requests import (
    AlreadyInstalledError,
    NotPermittedError,
    TargetChangedError,
)
from marketplace.installs.integration_management import (
    NotReadyError,
    Update,
    start_update,
    update_from,
)
from marketplace.integrations.integration_list import (
    IntegrationFilters,
    list_integrations,
    status_of_row,
    update_of,
)
from marketplace.models import Installation, Listing
from marketplace.today.section import MOST, Decisions, Fact, Row, Section, read_choices

_WORKING = frozenset(state.value for state in Installation.WORKING)
_REFUSED = (
    NotReadyError,
    NotPermittedError,
    AlreadyInstalledError,
    CommandNotAllowedError,
    EndpointNotAllowedError,
    TargetChangedError,
)


def list_updates() -> Section:
    """Return the integrations whose listing offers a newer version, with what changes."""
    found = list_integrations(IntegrationFilters(show="update"))
    shown = list(found[:MOST])
    listings = Listing.objects.filter(slug__in=[one.listing for one in shown])
    by_slug = {one.slug: one for one in listings}
    rows = tuple(_row(one, by_slug.get(one.listing)) for one in shown)
    return Section(rows, found.count(), f"{reverse('integrations')}?show=update")


def _row(one: Integration, listing: Listing | None) -> Row:
    words = _("From %(version)s to %(newer)s.") % {
        "version": one.version or _("an unknown version"),
        "newer": update_of(one),
    }
    address, action = reverse("integration-update", args=[one.slug]), _("Review update")
    if one.install_state in _WORKING:  # type: ignore[attr-defined]
        status = status_of_row(one)
        address, action = reverse("integration", args=[one.slug]), _("Show progress")
        told = status.label, status.tone, status.icon
        return Row(one.title, words, address, action, *told, face=face_of(one))
    update = _update(one, listing)
    if update is None:
        return Row(one.title, words, address, action, face=face_of(one))
    return Row(
        one.title,
        words,
        address,
        action,
        choice=f"{one.slug}:{update.digest}",
        facts=_facts(one, update),
        face=face_of(one),
    )


def _update(one: Integration, listing: Listing | None) -> Update | None:
    """Return the update if everything that it changes fits the list, else None."""
    try:
        update = update_from(one, listing)
    except CommandNotAllowedError:
        return None
    if update is None or update.listing.is_held:
        return None
    is_same = update.descriptor.transport == one.transport
    asks_more = set(update.descriptor.required_secrets) - set(one.required_secrets)
    return update if is_same and not asks_more else None


def _facts(one: Integration, update: Update) -> tuple[Fact, ...]:
    pairs = (
        (_("Command"), " ".join(one.command), " ".join(update.command)),
        (_("Address"), one.endpoint, update.descriptor.endpoint),
    )
    return tuple(Fact(*pair) for pair in pairs if pair[1] != pair[2])


def start_updates(*, by: User, choices: Sequence[str]) -> Decisions:
    """Start the chosen updates, each to the command or address that was displayed."""
    shown = read_choices(choices)
    rows = Integration.objects.filter(slug__in=list(shown)).order_by("title", "pk")
    done, refusals = 0, []
    for row in rows:
        try:
            start_update(by=by, integration=row, confirmed=shown[row.slug])
            done += 1
        except _REFUSED as refused:
            why = str(refused) or _("You are not allowed to start programs on this machine.")
            refusals.append(f"{row.title}: {why}")
    return Decisions(done, tuple(refusals))
