"""What is wrong with keys that secrets are sealed by; no answer repeats one."""

import base64
import binascii


def no_encryption_keys(text: str) -> str:
    """Nothing where `text` is keys by comma; else what they must be."""
    if all(_is_key(part.strip()) for part in text.split(",") if part.strip()):
        return ""
    return "must be keys of 32 bytes each, in URL-safe base64"


def _is_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text, altchars=b"-_", validate=True)) == 32
    except (binascii.Error, ValueError):
        return False
