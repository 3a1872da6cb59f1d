"""Events that people are told about, read from the rows that they happened to. Read only.

Nothing below has to report anything: an event is a row in a state, and its key is told once.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from acl.models import AccessRequest
from acl.platform.stored_texts import translate_stored
from catalog.models import Definition, Integration, IntegrationGroupPermission
from catalog.models.integration import ReviewState
from discovery.calls.approval_queue import WaitingCall, list_waiting
from discovery.models import Call, OutcomeAlert
from marketplace.models import NotificationChannel

Topic = NotificationChannel.Topic
MOST = 200  # of each topic at a time; the others follow
MOST_OF_WISH = 200


@dataclass(frozen=True, slots=True)
class Event:
    """An event: its key, which groups it is about, and what to say, in the active language.

    `user_id` is the only person to be told. `waiting` is set for a call that waits for approval.
    """

    key: str
    topic: Topic
    at: datetime
    title: str
    text: str
    path: str
    groups: frozenset[int] = frozenset()
    user_id: int | None = None
    waiting: WaitingCall | None = None


def list_events(since: datetime) -> list[Event]:
    """Return the events since then, in one or two statements for each topic."""
    readers = (_approvals, _requests, _failures, _alerts, _reviews, _answers)
    return [event for reader in readers for event in reader(since)]


def _approvals(since: datetime) -> Iterator[Event]:
    waiting = {call.pk: call for call in list_waiting() if not call.reason}
    calls = Call.objects.filter(pk__in=list(waiting), created_at__gte=since)
    for call in calls.select_related("user", "group").order_by("-created_at", "pk")[:MOST]:
        yield Event(
            key=f"call:{call.pk}",
            topic=Topic.APPROVALS,
            at=call.created_at,
            title=_("A call of %(tool)s waits for approval") % {"tool": call.full_name},
            text=_("Requested for %(user)s in %(group)s. Effect: %(effect)s.")
            % {
                "user": call.user,
                "group": call.group,
                "effect": {"read": _("reads"), "write": _("writes"), "delete": _("deletes")}.get(
                    call.side_effect, _("unknown")
                ),
            },
            path=reverse("approval", args=[call.pk]),
            groups=frozenset({call.group_id}),
            waiting=waiting[call.pk],
        )


def _requests(since: datetime) -> Iterator[Event]:
    rows = AccessRequest.objects.filter(state=AccessRequest.State.OPEN, created_at__gte=since)
    for access_request in rows.select_related("user", "group").order_by("-created_at", "pk")[:MOST]:
        yield Event(
            key=f"request:{access_request.pk}",
            topic=Topic.REQUESTS,
            at=access_request.created_at,
            title=_("%(user)s requests access in %(group)s")
            % {"user": access_request.user, "group": access_request.group},
            text=access_request.wish[:MOST_OF_WISH],
            path=reverse("access-request", args=[access_request.pk]),
            groups=frozenset({access_request.group_id}),
        )


def _failures(since: datetime) -> Iterator[Event]:
    rows = Integration.objects.filter(
        enabled=True, state=ReviewState.APPROVED, failing_since__gte=since, owner=None
    )
    failing = list(rows.order_by("-failing_since", "pk")[:MOST])
    groups = _groups_of([row.pk for row in failing])
    for integration in failing:
        if integration.failing_since is not None:
            yield Event(
                key=f"failing:{integration.pk}:{integration.failing_since.isoformat()}",
                topic=Topic.FAILURES,
                at=integration.failing_since,
                title=_("%(integration)s is failing") % {"integration": integration.title},
                text=translate_stored(integration.health),
                path=reverse("integration", args=[integration.slug]),
                groups=groups[integration.pk],
            )


def _alerts(since: datetime) -> Iterator[Event]:
    rows = OutcomeAlert.objects.filter(at__gte=since).select_related("group", "application")
    for alert in rows.order_by("-at", "-pk")[:MOST]:
        yield Event(
            key=f"alert:{alert.pk}",
            topic=Topic.ALERTS,
            at=alert.at,
            title=_("The outcomes in %(group)s are below the threshold") % {"group": alert.whose}
            if alert.whose
            else _("The outcomes of everyone are below the threshold"),
            text=_alert_text(alert),
            path=reverse("insights-outcomes"),
            groups=frozenset({alert.group_id} if alert.group_id else ()),
        )


def _reviews(since: datetime) -> Iterator[Event]:
    rows = Definition.objects.filter(standing__in=Definition.WAITING, changed_at__gte=since)
    waiting: dict[int, list[Definition]] = defaultdict(list)
    for row in rows.select_related("integration").order_by("integration", "name", "pk")[:1000]:
        waiting[row.integration_id].append(row)
    groups = _groups_of(list(waiting))
    for pk, definitions in waiting.items():
        integration = definitions[0].integration
        texts = "".join(f"{row.name} {row.standing} {row.proposed_hash}\n" for row in definitions)
        yield Event(
            key=f"review:{pk}:{hashlib.sha256(texts.encode()).hexdigest()[:32]}",
            topic=Topic.REVIEWS,
            at=max(row.changed_at for row in definitions),
            title=_("Definitions of %(integration)s are waiting for review")
            % {"integration": integration.title},
            text=_("Number of definitions: %(count)s. They are out of use until then.")
            % {"count": number_format(len(definitions), force_grouping=True)},
            path=reverse("integration-review", args=[integration.slug]),
            groups=groups[pk],
        )


def _answers(since: datetime) -> Iterator[Event]:
    requests = AccessRequest.objects.filter(answered_at__gte=since)
    for access_request in requests.order_by("-answered_at", "pk")[:MOST]:
        yield Event(
            key=f"answer:{access_request.pk}",
            topic=Topic.ANSWERS,
            at=access_request.answered_at or access_request.created_at,
            title=_("Your request was granted")
            if access_request.state == AccessRequest.State.GRANTED
            else _("Your request was declined"),
            text=f"{access_request.wish[:MOST_OF_WISH]}\n{access_request.note}".strip(),
            path=reverse("requests"),
            user_id=access_request.user_id,
        )
    calls = Call.objects.filter(decided_at__gte=since).exclude(decided_by=F("user"))
    for call in calls.order_by("-decided_at", "pk")[:MOST]:
        yield Event(
            key=f"decided:{call.pk}",
            topic=Topic.ANSWERS,
            at=call.decided_at or call.created_at,
            # No name of the tool: the right to it may be lost. The page decides what to show.
            title=_("A call of yours was rejected")
            if call.state == Call.State.REJECTED
            else _("A call of yours was approved"),
            text=call.note,
            path=reverse("approval", args=[call.pk]),
            user_id=call.user_id,
        )


def _alert_text(alert: OutcomeAlert) -> str:
    text = (
        _("Critical: %(value)s instead of at least %(threshold)s, measured on %(count)s turns.")
        if alert.severity == OutcomeAlert.Severity.CRITICAL
        else _("Warning: %(value)s instead of at least %(threshold)s, measured on %(count)s turns.")
    )
    return text % {
        "value": number_format(alert.value, 2),
        "threshold": number_format(alert.threshold, 2),
        "count": number_format(alert.samples, force_grouping=True),
    }


def _groups_of(integrations: list[int]) -> dict[int, frozenset[int]]:
    """Return the groups with a grant of each integration."""
    granted = IntegrationGroupPermission.objects.filter(
        content_object__in=integrations, permission__codename="use_integration"
    )
    groups: dict[int, set[int]] = defaultdict(set)
    for integration, group in granted.values_list("content_object_id", "group_id"):
        groups[integration].add(group)
    return {pk: frozenset(groups[pk]) for pk in integrations}


def find_call(event: str) -> Call | None:
    """Return the call that a key of an event is about, or None."""
    kind, _colon, pk = event.partition(":")
    if kind != "call":
        return None
    return Call.objects.select_related("capability").filter(pk=UUID(pk)).first()
