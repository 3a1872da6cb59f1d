"""One-time codes at sign-in, as an authenticator app computes them (RFC 6238)."""

import hmac
import time
from base64 import b32decode


def code_of(secret: str, *, steps: int = 0) -> str:
    """Return the code of the current half minute, or of one `steps` later."""
    counter = int(time.time()) // 30 + steps
    digest = hmac.digest(b32decode(secret), counter.to_bytes(8, "big"), "sha1")
    start = digest[-1] & 15
    number = int.from_bytes(digest[start : start + 4], "big") & 0x7FFFFFFF
    return f"{number % 1_000_000:06}"
