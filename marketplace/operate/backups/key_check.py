"""Keys that the sealed secrets of a backup need, by fingerprint. Backups contain no keys."""

import hashlib
from collections import Counter

from cryptography.fernet import Fernet, InvalidToken

from catalog.models import Secret
from catalog.servers.secrets.encryption_keys import SecretUnavailableError, known_keys

NO_KEY = ""


def secrets_by_key() -> dict[str, int]:
    """Count secrets by the fingerprint of the key that opens them; "" if none does."""
    keys, found = _keys_by_fingerprint(), Counter[str]()
    for sealed in Secret.objects.order_by("pk").values_list("sealed", flat=True).iterator():
        found[_find_key(bytes(sealed), keys)] += 1
    return dict(sorted(found.items()))


def missing_keys(needed: dict[str, int]) -> dict[str, int]:
    """Return keys that are not configured here, with the number of secrets that need them."""
    here = _keys_by_fingerprint()
    return {name: count for name, count in needed.items() if name and name not in here}


def _find_key(sealed: bytes, keys: dict[str, Fernet]) -> str:
    for fingerprint, key in keys.items():
        try:
            key.decrypt(sealed)
        except InvalidToken:
            continue
        return fingerprint
    return NO_KEY


def _keys_by_fingerprint() -> dict[str, Fernet]:
    try:
        return {_fingerprint(key): Fernet(key) for key in known_keys()}
    except (SecretUnavailableError, ValueError):
        return {}


def _fingerprint(key: str) -> str:
    """Hash a key of 32 random bytes, from which the hash reveals nothing."""
    return hashlib.sha256(f"pegboard backup {key}".encode()).hexdigest()[:16]
