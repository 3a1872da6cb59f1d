"""Sending to addresses that people gave: in the outgoing worker, by the guarded door."""

import json
import time
from typing import Any

from django.utils.translation import override

from acl.people.languages import language_of
from catalog.servers.net.guarded_requests import send_bytes
from catalog.servers.secrets.sealed_values import unseal
from marketplace.models import NotificationChannel, NotificationDelivery
from marketplace.notifications._delivery_attempts import (
    Message,
    NotDeliveredError,
    attempt_delivery,
    message_of,
    slack_body,
    teams_body,
    webhook_body,
)
from marketplace.notifications._standard_webhook import signed_headers

Kind = NotificationChannel.Kind


def deliver(pk: int) -> None:
    """Try a delivery once. Mail is another process's work."""
    attempt_delivery(pk, (Kind.SLACK, Kind.TEAMS, Kind.WEBHOOK), _send)


def _send(row: NotificationDelivery) -> int | None:
    channel = row.channel
    with override(language_of(channel.owner)):
        body = _encode(_body(row, message_of(row)))
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
