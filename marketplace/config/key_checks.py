"""Checks of encryption keys in settings. Messages never contain a key."""

import base64
import binascii


def no_encryption_keys(text: str) -> str:
    """Return "" if `text` lists valid keys, else an error message."""
    if all(_is_key(part.strip()) for part in text.split(",") if part.strip()):
        return ""
    return "must be keys of 32 bytes each, in URL-safe base64"


def _is_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text, altchars=b"-_", validate=True)) == 32
    except (binascii.Error, ValueError):
        return False
