"""Rows of deliveries: who is told what, and which deliveries are due."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import override

from acl.people.languages import language_of
from acl.platform.jobs.rows import update_unlocked
from acl.rights.approvers import Approver, eligibility_of
from marketplace.models import NotificationChannel, NotificationDelivery
from marketplace.notifications._events import Event, Topic, list_events
from marketplace.notifications.kinds.registry import MAIL

State = NotificationDelivery.State
TOLD_WITHIN = timedelta(days=1)  # after a longer pause, older events are old news
LEASE = timedelta(minutes=5)  # a worker that died has its deliveries repeated after this time
SERVER_AWAY = timedelta(minutes=1)  # the worker that sends mail does other work, too
AT_ONCE = 5  # of one channel: one that hangs takes no more threads than this


def add_deliveries() -> int:
    """Store a delivery for each event that a channel wants and has not; return how many."""
    channels = list(active_channels())
    if not channels:
        return 0
    begin = max(
        timezone.now() - TOLD_WITHIN, min(channel_row.created_at for channel_row in channels)
    )
    by_language: dict[str, list[NotificationChannel]] = defaultdict(list)
    for channel in channels:
        by_language[language_of(channel.owner)].append(channel)
    return sum(_add(code, some, begin) for code, some in sorted(by_language.items()))


def _add(language: str, channels: list[NotificationChannel], begin: datetime) -> int:
    with override(language):
        events = list_events(begin)
    stored = set(
        NotificationDelivery.objects.filter(event__in=[event.key for event in events]).values_list(
            "channel_id", "event"
        )
    )
    rows = [
        NotificationDelivery(
            channel=channel,
            event=event.key,
            topic=event.topic,
            content={"title": event.title, "text": event.text, "path": event.path},
        )
        for channel in channels
        for event in _wanted(channel, events)
        if (channel.pk, event.key) not in stored
    ]
    # Another worker may store the same ones at this moment.
    NotificationDelivery.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def active_channels() -> "QuerySet[NotificationChannel]":
    """Return the channels that are told anything: those of deactivated people are not."""
    whose = Q(owner=None) | Q(owner__is_active=True)
    rows = NotificationChannel.objects.filter(whose, paused=False)
    return rows.select_related("owner__language").order_by("pk")


def _wanted(channel: NotificationChannel, events: list[Event]) -> list[Event]:
    """Return the events that the channel asks for and may be told."""
    mine = [
        event
        for event in events
        if event.topic in channel.topics
        and event.at >= channel.created_at
        and _concerns(channel, event)
    ]
    calls = [event.waiting for event in mine if event.waiting is not None]
    if channel.owner_id is None or not calls:
        return mine
    # The person is told of the calls that they could decide.
    verdicts = eligibility_of(calls, Approver(channel.owner_id))
    return [
        event for event in mine if event.waiting is None or not verdicts[event.waiting.pk].objection
    ]


def _concerns(channel: NotificationChannel, event: Event) -> bool:
    if event.topic == Topic.ANSWERS:
        return channel.owner_id is not None and event.user_id == channel.owner_id
    if channel.owner is not None:
        return channel.owner.is_staff
    return channel.group_id is None or channel.group_id in event.groups


def claim_due() -> list[int]:
    """Lease the deliveries to addresses that are due, a few of each channel; return their keys."""
    chosen: dict[int, list[int]] = defaultdict(list)
    due = _due().exclude(channel__kind=MAIL).order_by("due_at", "pk")
    for pk, channel in due.values_list("pk", "channel_id")[:1000]:
        if len(chosen[channel]) < AT_ONCE:
            chosen[channel].append(pk)
    return _lease([pk for some in chosen.values() for pk in some])


def claim_due_mails() -> list[int]:
    """Lease a few mails that are due, whatever their channels: all go to one server."""
    due = _due().filter(channel__kind=MAIL).order_by("due_at", "pk")
    return _lease(list(due.values_list("pk", flat=True)[:AT_ONCE]))


def is_mail_due() -> bool:
    """Return True if a mail can be claimed."""
    return _due().filter(channel__kind=MAIL).exists()


def put_off_mails(leased: Sequence[int]) -> None:
    """Try no mail for a while, neither these nor those that are due: the server is away."""
    waiting = NotificationDelivery.objects.filter(state=State.PENDING, channel__kind=MAIL)
    soon = Q(pk__in=leased) | Q(due_at__lte=Now() + SERVER_AWAY)
    waiting.filter(soon).update(due_at=Now() + SERVER_AWAY)


def _due() -> QuerySet[NotificationDelivery]:
    return NotificationDelivery.objects.filter(
        state=State.PENDING, due_at__lte=Now(), channel__paused=False
    )


def _lease(keys: list[int]) -> list[int]:
    rows = NotificationDelivery.objects.filter(pk__in=keys, state=State.PENDING, due_at__lte=Now())
    return update_unlocked(rows, due_at=Now() + LEASE) if keys else []
