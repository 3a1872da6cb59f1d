"""Encryption of secrets, bound to their row."""

import json

from cryptography.fernet import InvalidToken

from catalog.models import Integration, Secret
from catalog.servers.secrets.encryption_keys import SecretUnavailableError, cipher


def seal(value: str, *, purpose: str) -> bytes:
    """Encrypt a value for one purpose: moved to another row, it does not decrypt."""
    return cipher().encrypt(json.dumps([purpose, value]).encode())


def unseal(sealed: bytes, *, purpose: str) -> str:
    """Decrypt a value sealed for this purpose, or raise SecretUnavailableError."""
    try:
        stored_purpose, value = json.loads(cipher().decrypt(sealed))
    except InvalidToken:
        raise SecretUnavailableError("A secret was sealed by a key that is gone.") from None
    if stored_purpose != purpose:
        raise SecretUnavailableError("A secret was sealed for something else.")
    return str(value)


def values_for(integration: Integration, *, user_id: int | None = None) -> dict[str, str]:
    """Return the decrypted secrets of an integration, personal ones before shared ones.

    One secret that cannot be decrypted fails all: half a set of credentials is never sent.
    """
    rows = Secret.objects.for_use(integration, user_id=user_id)
    return {row.name: unseal(bytes(row.sealed), purpose=row.purpose) for row in rows}
