"""Updates that listings offer, and starting several of them at once."""

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import gettext as _

from catalog.icons.declarations import face_of
from catalog.models import Integration
from catalog.servers.client.launch_rules import CommandNotAllowedError
from catalog.servers.net.address_check import EndpointNotAllowedError
from marketplace.installs.integration_management import (
    NotReadyError,
    Update,
    start_update,
    update_from,
)
from marketplace.installs.requests import (
    AlreadyInstalledError,
    NotPermittedError,
    TargetChangedError,
)
from marketplace.installs.shown_connection import fit_a_list
from marketplace.integrations.listing import (
    IntegrationFilters,
    list_integrations,
    status_of_row,
    update_of,
)
from marketplace.models import Installation, Listing
from marketplace.today._section import MOST, Decisions, Fact, Row, Section, read_choices

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
    integrations = list_integrations(IntegrationFilters(show="update"))
    first_integrations = list(integrations[:MOST])
    listings = Listing.objects.filter(slug__in=[entry.listing for entry in first_integrations])
    by_slug = {entry.slug: entry for entry in listings}
    rows = tuple(_row(entry, by_slug.get(entry.listing)) for entry in first_integrations)
    return Section(rows, integrations.count(), f"{reverse('integrations')}?show=update")


def _row(integration: Integration, listing: Listing | None) -> Row:
    words = _("From %(version)s to %(newer)s.") % {
        "version": integration.version or _("an unknown version"),
        "newer": update_of(integration),
    }
    address, action = reverse("integration-update", args=[integration.slug]), _("Review update")
    if integration.install_state in _WORKING:  # type: ignore[attr-defined]
        status = status_of_row(integration)
        address, action = reverse("integration", args=[integration.slug]), _("Show progress")
        status_parts = status.label, status.tone, status.icon
        return Row(
            integration.title, words, address, action, *status_parts, face=face_of(integration)
        )
    update = _update(integration, listing)
    if update is None:
        return Row(integration.title, words, address, action, face=face_of(integration))
    changed = (line for line in update.lines if line.is_changed)
    return Row(
        integration.title,
        words,
        address,
        action,
        choice=f"{integration.slug}:{update.digest}",
        facts=tuple(Fact(line.label, line.before, line.after) for line in changed),
        face=face_of(integration),
    )


def _update(integration: Integration, listing: Listing | None) -> Update | None:
    """Return the update if everything that it changes fits the list, else None."""
    try:
        update = update_from(integration, listing)
    except CommandNotAllowedError:
        return None
    if update is None or update.listing.is_held:
        return None
    is_same = update.descriptor.transport == integration.transport
    asks_more = set(update.descriptor.required_secrets) - set(integration.required_secrets)
    return update if is_same and not asks_more and fit_a_list(update.lines) else None


def start_updates(*, by: User, choices: Sequence[str]) -> Decisions:
    """Start the chosen updates, each to the connection that was displayed.

    What a list does not show in full is not started by one, whatever the request says.
    """
    digests = read_choices(choices)
    rows = list(Integration.objects.filter(slug__in=list(digests)).order_by("title", "pk"))
    listings = Listing.objects.filter(slug__in=[row.listing for row in rows])
    by_slug = {listing.slug: listing for listing in listings}
    done, refusals = 0, []
    for row in rows:
        try:
            _check_shown(row, by_slug.get(row.listing), digests[row.slug])
            start_update(by=by, integration=row, confirmed=digests[row.slug])
            done += 1
        except _REFUSED as refused:
            why = str(refused) or _("You are not allowed to start programs on this machine.")
            refusals.append(f"{row.title}: {why}")
    return Decisions(done, tuple(refusals))


def _check_shown(row: Integration, listing: Listing | None, digest: str) -> None:
    """Refuse an update that the list did not show, or not in full."""
    update = _update(row, listing)
    if update is None:
        raise NotReadyError(_("This list does not show all of it. Review it on its page."))
    if digest != update.digest:
        raise TargetChangedError
