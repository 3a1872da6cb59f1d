"""Deliveries: who is told what, which are due, and those by mail."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from smtplib import SMTPConnectError, SMTPException, SMTPServerDisconnected

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, override

from acl.people.languages import language_of
from acl.platform.jobs import update_unlocked
from acl.platform.mail import delivers_mail
from acl.rights.approvers import Approver, eligibility_of
from acl.visible_text.canonical_json import text_of
from catalog.servers.net.address_check import OutgoingError
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from discovery.calls.arguments import render_call
from discovery.models import Call
from marketplace.models import NotificationChannel, NotificationDelivery
from marketplace.notifications._events import Event, Topic, find_call, list_events
from marketplace.notifications.kinds.base import Message
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


# Attempts of deliveries: whether they are still wanted, what is told, and what became of them.
#
# Values of arguments leave only through a channel for which an admin said so.

Send = Callable[[NotificationDelivery], int | None]
# Seconds until the next attempt: eight attempts in about a day and a half.
BACK_OFF = (10, 60, 300, 1_800, 7_200, 21_600, 86_400)
_AWAY = (SMTPConnectError, SMTPServerDisconnected)  # as are all other problems of the network
_GONE = 410  # the receiver wants no more of them
log = structlog.get_logger(__name__)


class NotDeliveredError(Exception):
    """The receiver did not take it. The message contains no address."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def attempt_delivery(pk: int, kinds: Collection[str], send: Send) -> bool:
    """Try a delivery of these kinds once, and store what became of it.

    `send` returns the status that was answered, or None. Safe to run twice: the id is the same.
    Return False if the mail server is away.
    """
    rows = NotificationDelivery.objects.select_related("channel__owner__language")
    row = rows.filter(pk=pk, state=State.PENDING, channel__kind__in=kinds).first()
    if row is None or not _count_attempt(row):
        return True
    if why := _reason_to_drop(row):
        _end(row, State.DROPPED, message=why)
        return True
    try:
        status = send(row)
    except (NotDeliveredError, OutgoingError, SecretUnavailableError) as problem:
        _fail(row, str(problem), getattr(problem, "status", None))
    except (SMTPException, OSError) as problem:
        # The server's answer may have addresses in it.
        _fail(row, f"The mail server did not take it ({type(problem).__name__}).", None)
        return isinstance(problem, SMTPException) and not isinstance(problem, _AWAY)
    else:
        _end(row, State.DELIVERED, status=status, message="")
    return True


def _count_attempt(row: NotificationDelivery) -> bool:
    """Count the attempt before it is made; return False if another worker has."""
    same = NotificationDelivery.objects.filter(
        pk=row.pk, state=State.PENDING, attempts=row.attempts
    )
    row.attempts += 1
    return bool(same.update(attempts=row.attempts))


def _reason_to_drop(row: NotificationDelivery) -> str:
    """Return why nobody is told any more, or ""."""
    owner = row.channel.owner
    if owner is not None and not owner.is_active:
        return "The account was deactivated."
    if owner is not None and not owner.is_staff and row.topic not in ("test", Topic.ANSWERS):
        return "The person is no longer an admin."
    if row.topic == Topic.APPROVALS:
        call = find_call(row.event)
        if call is None or call.state != Call.State.WAITING:
            return "The call was decided before it was told."
    return ""


def message_of(row: NotificationDelivery) -> Message:
    """Return what is told, in the language that is active."""
    content, text = row.content, str(row.content.get("text", ""))
    if row.channel.with_arguments and row.topic == Topic.APPROVALS:
        call = find_call(row.event)
        call_text = text_of(render_call(call)) if call is not None else ""
        text = f"{text}\n\n{call_text}".strip()
    url = row.channel.origin.rstrip("/") + str(content.get("path", "/"))
    return Message(
        title=str(content.get("title", "")),
        text=text,
        url=url,
        topic=row.topic,
        event=row.event,
        at=row.created_at.isoformat(),
    )


def _fail(row: NotificationDelivery, message: str, status: int | None) -> None:
    """Store the failure, and when the next attempt is due."""
    log.info("notification failed", channel=row.channel_id, attempts=row.attempts, status=status)
    if status == _GONE:
        NotificationChannel.objects.filter(pk=row.channel_id).update(paused=True)
    if status == _GONE or row.topic == "test" or row.attempts > len(BACK_OFF):
        _end(row, State.FAILED, status=status, message=message)
        return
    wait = timedelta(seconds=BACK_OFF[row.attempts - 1])
    _update(row, status=status, message=message[:300], due_at=Now() + wait)


def _end(row: NotificationDelivery, state: NotificationDelivery.State, **columns: object) -> None:
    columns["message"] = str(columns.get("message", ""))[:300]
    _update(row, state=state, ended_at=Now(), **columns)


def _update(row: NotificationDelivery, **columns: object) -> None:
    NotificationDelivery.objects.filter(pk=row.pk, state=State.PENDING).update(**columns)


# Only the worker that knows the mail server sends mail. The outgoing one does not.
def deliver_mails() -> None:
    """Send some of the mails that are due, and none for a while if the server is away."""
    claimed = claim_due_mails()
    for place, pk in enumerate(claimed, 1):
        if not attempt_delivery(pk, (MAIL,), _send):
            put_off_mails(claimed[place:])
            return


def _send(row: NotificationDelivery) -> None:
    channel = row.channel
    with override(language_of(channel.owner)):
        message = message_of(row)
        if not delivers_mail():
            raise NotDeliveredError(
                "No mail server is set (PEGBOARD_EMAIL_URL), so no mail was sent."
            )
        address = channel.owner.email if channel.owner else channel.mail_to
        if not address:
            raise NotDeliveredError("The account has no e-mail address.")
        lines = [message.text, message.url, _(_SIGN_IN)]
        body = "\n\n".join(line for line in lines if line)
        subject = " ".join(message.title.split())[:180]
        EmailMessage(subject, body, settings.DEFAULT_FROM_EMAIL, [address]).send()


_SIGN_IN = gettext_noop(
    "The link asks you to sign in. Change what you are told under Account, Notifications."
)
