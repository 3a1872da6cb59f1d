"""Which keys the sealed secrets of a backup need. The keys themselves are never inside."""

import hashlib
from collections import Counter

from cryptography.fernet import Fernet, InvalidToken

from catalog.models import Secret
from catalog.servers.secrets.encryption_keys import SecretUnavailableError, known_keys

WITHOUT_KEY = ""


def secrets_by_key() -> dict[str, int]:
    """How many secrets each key opens, by its fingerprint; those that none opens by none."""
    keys, found = _keys_by_fingerprint(), Counter[str]()
    for sealed in Secret.objects.order_by("pk").values_list("sealed", flat=True).iterator():
        found[_opened_by(bytes(sealed), keys)] += 1
    return dict(sorted(found.items()))


def missing_keys(needed: dict[str, int]) -> dict[str, int]:
    """Those of the keys that are not here, with how many secrets each would open."""
    here = _keys_by_fingerprint()
    return {name: count for name, count in needed.items() if name and name not in here}


def _opened_by(sealed: bytes, keys: dict[str, Fernet]) -> str:
    for fingerprint, key in keys.items():
        try:
            key.decrypt(sealed)
        except InvalidToken:
            continue
        return fingerprint
    return WITHOUT_KEY


def _keys_by_fingerprint() -> dict[str, Fernet]:
    try:
        return {_fingerprint(key): Fernet(key) for key in known_keys()}
    except (SecretUnavailableError, ValueError):
        return {}


def _fingerprint(key: str) -> str:
    """Tells keys apart and nothing of them: they are 32 random bytes."""
    return hashlib.sha256(f"pegboard backup {key}".encode()).hexdigest()[:16]
