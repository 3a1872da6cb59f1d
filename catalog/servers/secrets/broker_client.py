"""Client of the secrets broker: questions over its socket, values, and refusals in words.

Talks only to PEGBOARD_BROKER, a Unix socket. A question and its answer are a line of JSON each.
"""

import json
import socket
import time
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.conf import settings
from django.utils.translation import gettext as _

from acl.platform.strict_json import StrictJSONError, parse_json
from catalog.servers.secrets.encryption_keys import SecretUnavailableError

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
