"""Definitions that wait for a review, and decisions about several of them at once."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby

from django.contrib.auth.models import User
from django.db.models import Count, Exists, F, OuterRef, Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from catalog.capabilities.runtime_state import NOT_OVER
from catalog.icons import face_of
from catalog.models import Capability, Definition, Integration, RuntimeCapability
from catalog.models.integration import ReviewState
from catalog.registration.definition_review import ChangedSinceError, NotReadableError
from catalog.servers.client.launch_rules import CommandNotAllowedError
from catalog.servers.net.address_check import EndpointNotAllowedError
from catalog.servers.proposals import list_open_proposals
from marketplace.installs.confirmation import fit_a_list
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
from marketplace.integrations import review_decisions
from marketplace.integrations.listing import (
    IntegrationFilters,
    list_integrations,
    status_of_row,
    update_of,
)
from marketplace.integrations.review_decisions import change_of
from marketplace.models import Installation, Listing
from marketplace.today._section import (
    MOST,
    Decisions,
    Fact,
    PendingDefinition,
    Row,
    Section,
    read_choices,
    read_keys,
)

MOST_DEFINITIONS = 20
# A longer definition is approved on its integration's page, where it can be folded and searched.
MOST_CHARACTERS, MOST_LINES = 1_500, 40
_UNDECIDED = (RuntimeCapability.State.PROPOSED, RuntimeCapability.State.TRIED)


def list_reviews() -> Section:
    """Return integrations with definitions to review, then what else waits for a decision."""
    waiting = Q(definitions__standing__in=Definition.WAITING)
    integrations = Integration.objects.annotate(
        waiting=Count("definitions", filter=waiting, distinct=True), picture=F("icon__image")
    )
    integrations = integrations.filter(Q(waiting__gt=0) | Q(state=ReviewState.QUARANTINED))
    first_integrations = list(integrations.order_by("title", "pk")[:MOST])
    definitions = _definitions_of([integration.pk for integration in first_integrations])
    rows = [_row(integration, definitions[integration.pk]) for integration in first_integrations]
    installs = Installation.objects.filter(state=Installation.State.NEEDS_APPROVAL)
    proposals = list_open_proposals()
    ready = Capability.objects.filter(full_name=OuterRef("full_name"), state=ReviewState.APPROVED)
    runtime_tools = RuntimeCapability.objects.filter(NOT_OVER, Exists(ready), state__in=_UNDECIDED)
    others = (
        _others(installs.count(), "integrations", _("Installations waiting for approval")),
        _others(proposals.count(), "proposals", _("Servers that assistants proposed")),
        _others(runtime_tools.count(), "runtime-tools", _("Tools made at runtime")),
    )
    more = [row for row in others if row is not None]
    return Section((*rows, *more), integrations.count() + len(more), reverse("integrations"))


def _definitions_of(integrations: list[int]) -> dict[int, list[PendingDefinition]]:
    """Return the first definitions that wait, by integration, in one statement."""
    waiting = Definition.objects.filter(
        integration__in=integrations, standing__in=Definition.WAITING
    )
    definitions: dict[int, list[PendingDefinition]] = defaultdict(list)
    for row in waiting.order_by("integration__title", "integration", "name", "pk")[
        :MOST_DEFINITIONS
    ]:
        definitions[row.integration_id].append(_pending(row))
    return definitions


def _pending(row: Definition) -> PendingDefinition:
    change = change_of(row)
    fields = [field for field in change.fields if field.is_changed]
    characters = sum(len(field.before) + len(field.after) for field in fields)
    lines = sum(len(field.lines) for field in fields)
    is_whole = not any(field.left_out for field in fields)
    return PendingDefinition(
        row.pk, change, is_whole and characters <= MOST_CHARACTERS and lines <= MOST_LINES
    )


def _row(integration: Integration, definitions: list[PendingDefinition]) -> Row:
    number = integration.waiting  # type: ignore[attr-defined]
    words = ngettext(
        "%(count)s definition is waiting for review.",
        "%(count)s definitions are waiting for review.",
        number,
    )
    return Row(
        integration.title,
        words % {"count": number},
        reverse("integration-review", args=[integration.slug]),
        _("Review changes"),
        definitions=tuple(definitions),
        face=face_of(integration),
    )


def _others(number: int, page: str, title: str) -> Row | None:
    words = ngettext("%(count)s is waiting.", "%(count)s are waiting.", number) % {"count": number}
    return Row(title, words, reverse(page), _("Review")) if number else None


def decide_definitions(*, by: User, choices: Sequence[str], approve: bool) -> Decisions:
    """Approve or reject the chosen definitions, exactly as they were displayed.

    Those of an integration are decided together; a refusal stops no other integration. What the
    list does not show in full, or what is suspicious, is approved on its own page only.
    """
    seen_by = read_choices(choices)
    digests_by_key = {
        key: digests for text, digests in seen_by.items() for key in read_keys([text])
    }
    rows = Definition.objects.filter(pk__in=list(digests_by_key), standing__in=Definition.WAITING)
    definitions = list(
        rows.select_related("integration").order_by("integration__title", "integration")
    )
    decide = review_decisions.approve if approve else review_decisions.keep_out
    done, refusals = 0, []
    if approve:
        objections = {row.pk: why for row in definitions if (why := _pending(row).objection)}
        refusals = [
            f"{row.name}: {objections[row.pk]}" for row in definitions if row.pk in objections
        ]
        definitions = [row for row in definitions if row.pk not in objections]
    for integration, some in groupby(definitions, key=lambda row: row.integration):
        digests = {row.name: digests_by_key[row.pk] for row in some}
        try:
            done += len(decide(by=by, integration=integration, digests=digests))
        except ChangedSinceError:
            refusals.append(
                _("%(title)s has changed since it was displayed. This is the current state.")
                % {"title": integration.title}
            )
        except NotReadableError as problem:
            refusals.append(f"{integration.title}: {problem}")
    if not definitions and not refusals:
        refusals.append(_("Nothing is left to review."))
    return Decisions(done, tuple(refusals))


# Updates that listings offer, and starting several of them at once.

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
    rows = tuple(_update_row(entry, by_slug.get(entry.listing)) for entry in first_integrations)
    return Section(rows, integrations.count(), f"{reverse('integrations')}?show=update")


def _update_row(integration: Integration, listing: Listing | None) -> Row:
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
            # Refuse an update that the list did not show, or not in full.
            update = _update(row, (by_slug.get(row.listing)))
            if update is None:
                raise NotReadyError(_("This list does not show all of it. Review it on its page."))
            if (digests[row.slug]) != update.digest:
                raise TargetChangedError
            start_update(by=by, integration=row, confirmed=digests[row.slug])
            done += 1
        except _REFUSED as refused:
            why = str(refused) or _("You are not allowed to start programs on this machine.")
            refusals.append(f"{row.title}: {why}")
    return Decisions(done, tuple(refusals))
