"""Attempts of deliveries: whether they are still wanted, what is told, and what became of them.

Values of arguments leave only through a channel for which an admin said so.
"""

from collections.abc import Callable, Collection
from datetime import timedelta
from smtplib import SMTPConnectError, SMTPException, SMTPServerDisconnected

import structlog
from django.db.models.functions import Now

from acl.visible_text.canonical_json import text_of
from catalog.servers.net.address_check import OutgoingError
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from discovery.calls.arguments import render_call
from discovery.models import Call
from marketplace.models import NotificationChannel, NotificationDelivery
from marketplace.notifications._events import Topic, find_call
from marketplace.notifications.kinds.base import Message

State = NotificationDelivery.State
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
