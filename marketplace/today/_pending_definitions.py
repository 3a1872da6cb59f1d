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
from catalog.icons.declarations import face_of
from catalog.models import Capability, Definition, Integration, RuntimeCapability
from catalog.models.integration import ReviewState
from catalog.registration.definition_review import ChangedSinceError, NotReadableError
from catalog.servers.proposals import list_open_proposals
from marketplace.integrations import review_decisions
from marketplace.integrations.review_decisions import change_of
from marketplace.models import Installation
from marketplace.today._section import (
    MOST,
    Decisions,
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
