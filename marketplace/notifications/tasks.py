"""Celery tasks of notifications, in the outgoing worker."""

import json
import time

from celery import shared_task
from django.utils.translation import override

from acl.people.languages import language_of
from acl.platform.task_names import DELIVER_MAIL, DELIVER_NOTIFICATION, NOTIFY, send_each
from catalog.servers.net.guarded_requests import send_bytes
from catalog.servers.secrets.sealed_values import unseal
from marketplace.models import NotificationDelivery
from marketplace.notifications.channels import signed_headers
from marketplace.notifications.deliveries import (
    NotDeliveredError,
    add_deliveries,
    attempt_delivery,
    claim_due,
    is_mail_due,
    message_of,
)
from marketplace.notifications.kinds.registry import ADDRESS_KINDS, MAIL


@shared_task(name=NOTIFY)  # type: ignore[untyped-decorator]
def notify() -> None:
    """Store what is to be told, and send what is due."""
    add_deliveries()
    send_each(DELIVER_NOTIFICATION, ([key] for key in claim_due()))
    if is_mail_due():
        send_each(DELIVER_MAIL, [[]])


# Sending to addresses that people gave, by the guarded door.


@shared_task(name=DELIVER_NOTIFICATION)  # type: ignore[untyped-decorator]
def deliver(pk: int) -> None:
    """Try a delivery once. Mail is another process's work."""
    row = NotificationDelivery.objects.select_related("channel").filter(pk=pk).first()
    if row is not None and row.channel.kind != MAIL:
        attempt_delivery(pk, (row.channel.kind,), _send)


def _send(row: NotificationDelivery) -> int | None:
    channel = row.channel
    kind = ADDRESS_KINDS.get(channel.kind)
    if kind is None:
        raise NotDeliveredError(f"This version of Pegboard has no channels of {channel.kind}.")
    with override(language_of(channel.owner)):
        body = json.dumps(kind.body(message_of(row)), ensure_ascii=False).encode()
    url = unseal(bytes(channel.sealed_address), purpose=channel.address_purpose)
    headers: dict[str, str] = {}
    if kind.SIGNED:
        secret = unseal(bytes(channel.sealed_secret), purpose=channel.secret_purpose)
        headers = signed_headers(
            secret=secret, message_id=f"msg_{row.public_id.hex}", at=int(time.time()), body=body
        )
    status = send_bytes(url, body, headers={"content-type": "application/json", **headers})
    if not 200 <= status < 300:
        raise NotDeliveredError(f"The address answered with status {status}.", status)
    return status
