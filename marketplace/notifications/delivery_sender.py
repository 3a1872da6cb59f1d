"""Sending deliveries, in the outgoing worker: by mail, or by the guarded door to an address.

Talks to the addresses that people gave, and to the mail server. Values of arguments leave only
through a channel for which an admin said so.
"""

import json
import time
from datetime import timedelta
from smtplib import SMTPException
from typing import Any

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, override

from acl.accounts.languages import language_of
from acl.platform.mail import delivers_mail
from acl.visible_text.json_text import text_of
from catalog.servers.net.guarded_requests import send_bytes
from catalog.servers.net.outgoing_errors import OutgoingError
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from catalog.servers.secrets.sealed_values import unseal
from discovery.calls.call_arguments import render_call
from discovery.models import Call
from marketplace.models import NotificationChannel, NotificationDelivery
from marketplace.notifications.events import Topic, find_call
from marketplace.notifications.messages import Message, slack_body, teams_body, webhook_body
from marketplace.notifications.standard_webhook import signed_headers

Kind, State = NotificationChannel.Kind, NotificationDelivery.State
# Seconds until the next attempt: eight attempts in about a day and a half.
BACK_OFF = (10, 60, 300, 1_800, 7_200, 21_600, 86_400)
_GONE = 410  # the receiver wants no more of them
log = structlog.get_logger(__name__)


class NotDeliveredError(Exception):
    """The receiver did not take it. The message contains no address."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def deliver(pk: int) -> None:
    """Try a delivery once, and store what became of it. Safe to run twice: its id is the same."""
    rows = NotificationDelivery.objects.select_related("channel__owner__language")
    row = rows.filter(pk=pk, state=State.PENDING).first()
    if row is None or not _count_attempt(row):
        return
    if why := _reason_to_drop(row):
        _end(row, State.DROPPED, message=why)
        return
    try:
        status = _send(row)
    except (NotDeliveredError, OutgoingError, SecretUnavailableError) as problem:
        _fail(row, str(problem), getattr(problem, "status", None))
    except (SMTPException, OSError) as problem:
        # The server's answer may have addresses in it.
        _fail(row, f"The mail server did not take it ({type(problem).__name__}).", None)
    else:
        _end(row, State.DELIVERED, status=status, message="")


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


def _send(row: NotificationDelivery) -> int | None:
    channel = row.channel
    with override(language_of(channel.owner)):
        message = _message(row)
        if channel.kind == Kind.MAIL:
            _send_mail(channel, message)
            return None
        body = _encode(_body(row, message))
    url = unseal(bytes(channel.sealed_address), purpose=channel.address_purpose)
    headers: dict[str, str] = {}
    if channel.kind == Kind.WEBHOOK:
        secret = unseal(bytes(channel.sealed_secret), purpose=channel.secret_purpose)
        headers = signed_headers(
            secret=secret, message_id=f"msg_{row.public_id.hex}", at=int(time.time()), body=body
        )
    status = send_bytes(url, body, headers={"content-type": "application/json", **headers})
    if not 200 <= status < 300:
        raise NotDeliveredError(f"The address answered with status {status}.", status)
    return status


def _body(row: NotificationDelivery, message: Message) -> dict[str, Any]:
    if row.channel.kind == Kind.WEBHOOK:
        at = row.created_at.isoformat()
        return webhook_body(message, topic=row.topic, at=at, event=row.event)
    return (slack_body if row.channel.kind == Kind.SLACK else teams_body)(message)


def _encode(values: object) -> bytes:
    return json.dumps(values, ensure_ascii=False).encode()


def _message(row: NotificationDelivery) -> Message:
    content, text = row.content, str(row.content.get("text", ""))
    if row.channel.with_arguments and row.topic == Topic.APPROVALS:
        call = find_call(row.event)
        shown = text_of(render_call(call)) if call is not None else ""
        text = f"{text}\n\n{shown}".strip()
    url = row.channel.origin.rstrip("/") + str(content.get("path", "/"))
    return Message(str(content.get("title", "")), text, url)


def _send_mail(channel: NotificationChannel, message: Message) -> None:
    if not delivers_mail():
        raise NotDeliveredError("No mail server is set (PEGBOARD_EMAIL_URL), so no mail was sent.")
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
