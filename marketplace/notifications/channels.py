"""Channels as people keep them: each addition, change and removal has an audit entry."""

import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import override

from acl.audit.recorder import record
from acl.people.languages import language_of
from acl.platform.answer_model import FieldRefused
from acl.platform.mail import delivers_mail
from acl.platform.task_names import NOTIFY, send_on_commit
from catalog.servers.net.address_check import AllowedHosts, EndpointNotAllowedError, check_address
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from catalog.servers.secrets.sealed_values import seal
from marketplace.models import NotificationChannel, NotificationDelivery
from marketplace.notifications.kinds.registry import ADDRESS_KINDS, KINDS, MAIL

# Signatures of webhooks by the Standard Webhooks specification, version 1. Pure.
#
# Its kept library is made for receivers and brings an HTTP client of its own; signing is one HMAC.
# Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md

_PREFIX = "whsec_"
_BYTES = 32  # the specification allows 24 to 64


def new_secret() -> str:
    """Return a new signing secret, in the form that receivers' libraries take."""
    return _PREFIX + b64encode(secrets.token_bytes(_BYTES)).decode()


def signed_headers(*, secret: str, message_id: str, at: int, body: bytes) -> dict[str, str]:
    """Return the three headers for `body`, sent at the Unix time `at` in seconds."""
    signed = f"{message_id}.{at}.".encode() + body
    digest = hmac.new(b64decode(secret.removeprefix(_PREFIX)), signed, hashlib.sha256).digest()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{b64encode(digest).decode()}",
    }


Topic = NotificationChannel.Topic
MOST_OF_PERSON, MOST_OF_ADMINS = 10, 100


class ChannelRefused(FieldRefused):
    """The channel cannot be added. `field` names what is wrong."""


@dataclass(frozen=True, slots=True)
class NewChannel:
    """A wish for a channel. `owner` makes it a person's own; `group` limits one of admins."""

    kind: str
    topics: Sequence[str]
    origin: str
    owner: User | None = None
    group: Group | None = None
    address: str = ""
    mail_to: str = ""
    with_arguments: bool = False


def own_channels(person: User) -> "QuerySet[NotificationChannel]":
    """Return the person's own channels, with the number of failed deliveries."""
    return _listed(NotificationChannel.objects.filter(owner=person))


def admin_channels() -> "QuerySet[NotificationChannel]":
    """Return the channels that admins keep for groups and everyone."""
    return _listed(NotificationChannel.objects.filter(owner=None))


def _listed(rows: "QuerySet[NotificationChannel]") -> "QuerySet[NotificationChannel]":
    failed = Q(deliveries__state=NotificationDelivery.State.FAILED)
    counted = rows.annotate(failed=Count("deliveries", filter=failed))
    return counted.select_related("group", "owner").order_by("pk")


@transaction.atomic
def add_channel(*, by: User, values: NewChannel) -> tuple[NotificationChannel, str]:
    """Store a channel; return it, and a webhook's signing secret, which is shown once."""
    _check(values)
    secret = new_secret() if values.kind != MAIL and ADDRESS_KINDS[values.kind].SIGNED else ""
    host = urlsplit(values.address).hostname or "" if values.kind != MAIL else ""
    row = NotificationChannel(
        owner=values.owner,
        group=values.group,
        kind=values.kind,
        topics=list(values.topics),
        mail_to=values.mail_to if values.kind == MAIL and values.owner is None else "",
        host=host[:253],
        origin=values.origin,
        with_arguments=values.with_arguments and values.owner is None,
        # The purpose has the row's key in it, so the row comes first.
        sealed_address=b"" if values.kind == MAIL else b"pending",
    )
    row.save()
    if values.kind != MAIL:
        try:
            row.sealed_address = seal(values.address, purpose=row.address_purpose)
            row.sealed_secret = seal(secret, purpose=row.secret_purpose) if secret else b""
        except SecretUnavailableError as problem:
            raise ChannelRefused("address", str(problem)) from None
        row.save(update_fields=["sealed_address", "sealed_secret"])
    _record("notification.channel_added", row, by)
    return row, secret


def _check(values: NewChannel) -> None:
    if values.kind not in KINDS:
        raise ChannelRefused("kind", _("There is no such kind of channel."))
    rows = NotificationChannel.objects.filter(owner=values.owner)
    most = MOST_OF_ADMINS if values.owner is None else MOST_OF_PERSON
    if rows.count() >= most:
        raise ChannelRefused(
            "kind", _("There are %(most)s channels, which is the limit.") % {"most": most}
        )
    if values.kind == MAIL:
        if not delivers_mail():
            raise ChannelRefused("kind", _("No mail server is set, so no mail can be sent."))
        if values.owner is not None and not values.owner.email:
            raise ChannelRefused("kind", _("Your account has no e-mail address."))
        if values.owner is None and not values.mail_to:
            raise ChannelRefused("mail_to", _("Enter the address that gets the mails."))
        return
    if not values.address:
        raise ChannelRefused("address", _("Enter the address of the webhook."))
    try:
        check_address(values.address, AllowedHosts.from_settings())
    except EndpointNotAllowedError as refusal:
        raise ChannelRefused("address", str(refusal)) from None
    parameters = parse_qs(urlsplit(values.address).query)
    for name in ADDRESS_KINDS[values.kind].QUERY:
        if name not in parameters:
            raise ChannelRefused(
                "address", _("The address has no parameter %(name)s.") % {"name": name}
            )


@transaction.atomic
def set_paused(*, by: User, channel: NotificationChannel, paused: bool) -> bool:
    """Pause a channel, or resume it; return False if it was so already."""
    rows = NotificationChannel.objects.filter(pk=channel.pk, paused=not paused)
    changed = bool(rows.update(paused=paused))
    if changed:
        action = "notification.channel_paused" if paused else "notification.channel_resumed"
        _record(action, channel, by)
    return changed


@transaction.atomic
def remove_channel(*, by: User, channel: NotificationChannel) -> None:
    """Remove a channel with its log."""
    _record("notification.channel_removed", channel, by)
    channel.delete()


@transaction.atomic
def send_test(*, channel: NotificationChannel) -> NotificationDelivery:
    """Queue a test message; the log shows what becomes of it."""
    with override(language_of(channel.owner)):
        title = _("Test from Pegboard")
        text = _("If you can read this, notifications arrive here.")
    content = {"title": title, "text": text, "path": "/today/"}
    row = NotificationDelivery.objects.create(
        channel=channel, event=f"test:{uuid4()}", topic="test", content=content
    )
    send_on_commit(NOTIFY)
    return row


def _record(action: str, channel: NotificationChannel, by: User) -> None:
    details = {
        "kind": channel.kind,
        "host": channel.host or channel.mail_to,
        "topics": list(channel.topics),
        "group": channel.group.name if channel.group else "",
        "with_arguments": channel.with_arguments,
    }
    record(by=by, action=action, target=str(channel), details=details)
