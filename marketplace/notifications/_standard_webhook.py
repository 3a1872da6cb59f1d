"""Signatures of webhooks by the Standard Webhooks specification, version 1. Pure.

Its kept library is made for receivers and brings an HTTP client of its own; signing is one HMAC.
Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode

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
