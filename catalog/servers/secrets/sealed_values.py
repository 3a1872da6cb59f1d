"""Encryption of secrets, bound to their row, and their re-encryption with the newest key."""

import json
import socket
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _

from acl.platform.strict_json import StrictJSONError, parse_json
from catalog.models import Integration, OAuthRevocation, Secret
from catalog.models.oauth_tables import SecretsInUse
from catalog.servers.secrets.encryption_keys import (
    CannotOpenError,
    OtherPurposeError,
    SecretUnavailableError,
    close_envelope,
    open_envelope,
    open_value,
    opening_keys,
    seal_value,
    sealing_key,
)

# Client of the secrets broker: questions over its socket, values, and refusals in words.
#
# Talks only to PEGBOARD_BROKER, a Unix socket. A question and its answer are a line of JSON each.

_SECONDS = 10.0
# A broker that died is back after one or two seconds.
_RECONNECT_SECONDS = 5.0
_PAUSE = 0.2


@dataclass(frozen=True, slots=True)
class SealedValue:
    """Sealed bytes, and the purpose that they were sealed for: whose secret of which server."""

    purpose: str
    sealed: bytes


class BrokerRefusal(StrEnum):
    """Reasons to refuse a value."""

    NO_KEY = "no_key"
    OTHER_USE = "other_use"
    NOT_NOW = "not_now"
    TOO_MANY = "too_many"
    NO_ANSWER = "no_answer"


def refused(why: str) -> SecretUnavailableError:
    """Return the error for a refusal, worded for people."""
    words = {
        BrokerRefusal.NO_KEY: _(
            "A secret was encrypted with a key that no longer exists. Set it again."
        ),
        BrokerRefusal.OTHER_USE: _("A secret was encrypted for another use. Set it again."),
        BrokerRefusal.NOT_NOW: _(
            "The secrets service refused: no call or connection needs this secret."
        ),
        BrokerRefusal.TOO_MANY: _(
            "The secrets service opened too many secrets. Try again in a minute."
        ),
    }
    silent = _("The secrets service does not respond. Try again in a moment.")
    return SecretUnavailableError(words.get(why, silent))  # type: ignore[call-overload]


def ask_broker(sealed: Sequence[SealedValue]) -> list[str]:
    """Return the values in the same order; SecretUnavailableError if the broker refuses one."""
    question = [
        {"purpose": item.purpose, "sealed": b64encode(item.sealed).decode()} for item in sealed
    ]
    try:
        with _connect() as channel, channel.makefile("rwb") as stream:
            stream.write(json.dumps({"open": question}).encode() + b"\n")
            stream.flush()
            answer = parse_json(stream.readline(), any_text=True)
    except (OSError, StrictJSONError):
        raise refused(BrokerRefusal.NO_ANSWER) from None
    if "values" not in answer:
        raise refused(str(answer.get("refusal", "")))
    return [str(value) for value in answer["values"]]


def _connect() -> socket.socket:
    """Return a connection, waiting for a broker that is being restarted."""
    until = time.monotonic() + _RECONNECT_SECONDS
    while True:
        channel = socket.socket(socket.AF_UNIX)
        channel.settimeout(_SECONDS)
        try:
            channel.connect(str(settings.PEGBOARD_BROKER))
        except OSError:
            channel.close()
            if time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
        else:
            return channel


# Columns of long-lived sealed bytes, each with the attribute that holds its purpose.
_SEALED: list[tuple[type[Model], str, str]] = [
    (Secret, "sealed", "purpose"),
    (OAuthRevocation, "sealed_token", "token_purpose"),
    (OAuthRevocation, "sealed_client", "client_purpose"),
]


def register_sealed(model: type[Model], field: str, purpose: str) -> None:
    """Add a column of sealed bytes of an app above, so that a rotation of keys includes it."""
    if (model, field, purpose) not in _SEALED:
        _SEALED.append((model, field, purpose))


def seal(value: str, *, purpose: str) -> bytes:
    """Encrypt a value for one purpose: moved to another row, it does not decrypt."""
    return seal_value(value, purpose=purpose, public=sealing_key())


def unseal(sealed: bytes, *, purpose: str) -> str:
    """Decrypt a value sealed for this purpose, or raise SecretUnavailableError."""
    return _unseal_all([SealedValue(purpose, sealed)])[0]


class UsedValues(dict[str, str]):
    """The decrypted secrets of one call by name, and of whom they are."""

    in_use = SecretsInUse(())


def values_for(integration: Integration, *, user_id: int | None = None) -> UsedValues:
    """Return the decrypted secrets of an integration, personal ones before shared ones.

    One secret that cannot be decrypted fails all: half a set of credentials is never sent.
    """
    in_use = Secret.objects.for_use(integration, user_id=user_id)
    opened = _unseal_all([SealedValue(row.purpose, bytes(row.sealed)) for row in in_use.rows])
    values = UsedValues({row.name: value for row, value in zip(in_use.rows, opened, strict=True)})
    values.in_use = in_use
    return values


def _unseal_all(sealed: Sequence[SealedValue]) -> list[str]:
    if not sealed:
        return []
    if settings.PEGBOARD_BROKER:
        return ask_broker(sealed)
    keys = opening_keys()
    try:
        return [open_value(item.sealed, purpose=item.purpose, keys=keys) for item in sealed]
    except CannotOpenError:
        raise refused(BrokerRefusal.NO_KEY) from None
    except OtherPurposeError:
        raise refused(BrokerRefusal.OTHER_USE) from None


@dataclass(slots=True)
class RotationReport:
    """The number of re-encrypted secrets, and the ones that could not be decrypted."""

    sealed: int
    lost: list[str]


def rotate_secrets(
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> RotationReport:
    """Re-encrypt every secret with the first key."""
    rotated = RotationReport(0, [])
    keys, public = opening_keys(), sealing_key()
    total = sum(_with_sealed(model, field).count() for model, field, _ in _SEALED)
    for done, (row, field, purpose) in enumerate(_iterate_sealed(), start=1):
        sealed = bytes(getattr(row, field))
        try:
            again = close_envelope(open_envelope(sealed, keys), public)
        except CannotOpenError:
            rotated.lost.append(getattr(row, purpose))
        else:
            # Compare-and-set: a secret changed meanwhile was encrypted with the newest key already.
            _with_sealed(type(row), field).filter(pk=row.pk, **{field: sealed}).update(
                **{field: again}
            )
            rotated.sealed += 1
        progress(done, total)
    return rotated


def _with_sealed(model: type[Model], field: str) -> QuerySet[Any]:
    return model._default_manager.exclude(**{field: b""}).order_by("pk")


def _iterate_sealed() -> Iterator[tuple[Any, str, str]]:
    for model, field, purpose in _SEALED:
        for row in _with_sealed(model, field).iterator():
            yield row, field, purpose
