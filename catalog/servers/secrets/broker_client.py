"""Client of the secrets broker: asks for the values of sealed secrets over its socket.

Talks only to PEGBOARD_BROKER, a Unix socket. A question and its answer are a line of JSON each.
"""

import json
import socket
import time
from base64 import b64encode
from collections.abc import Sequence

from django.conf import settings

from acl.platform.strict_json import StrictJSONError, parse_json
from catalog.servers.secrets.refusals import Refusal, SealedValue, refused

_SECONDS = 10.0
# A broker that died is back after one or two seconds.
_RECONNECT_SECONDS = 5.0
_PAUSE = 0.2


def ask_broker(sealed: Sequence[SealedValue]) -> list[str]:
    """Return the values in the same order; SecretUnavailableError if the broker refuses one."""
    question = [
        {"purpose": one.purpose, "sealed": b64encode(one.sealed).decode()} for one in sealed
    ]
    try:
        with _connect() as channel, channel.makefile("rwb") as stream:
            stream.write(json.dumps({"open": question}).encode() + b"\n")
            stream.flush()
            answer = parse_json(stream.readline(), any_text=True)
    except (OSError, StrictJSONError):
        raise refused(Refusal.NO_ANSWER) from None
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
