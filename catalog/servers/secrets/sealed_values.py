"""Between a secret and the bytes of its row."""

import json

from cryptography.fernet import InvalidToken

from catalog.models import Integration, Secret
from catalog.servers.secrets.encryption_keys import SecretUnavailableError, cipher


def seal(value: str, *, purpose: str) -> bytes:
    """The bytes to store. They open for this purpose only: moved to another row they are void."""
    return cipher().encrypt(json.dumps([purpose, value]).encode())


def unseal(sealed: bytes, *, purpose: str) -> str:
    """What was sealed for this purpose; SecretUnavailableError for anything else."""
    try:
        stored_purpose, value = json.loads(cipher().decrypt(sealed))
    except InvalidToken:
        raise SecretUnavailableError("A secret was sealed by a key that is gone.") from None
    if stored_purpose != purpose:
        raise SecretUnavailableError("A secret was sealed for something else.")
    return str(value)


def values_for(integration: Integration, *, user_id: int | None = None) -> dict[str, str]:
    """The secrets that a worker needs to speak with the integration, a person's own before shared
    ones. One that cannot be opened stops all of it: half of a sign-in is not sent."""
    rows = Secret.objects.for_use(integration, user_id=user_id)
    return {row.name: unseal(bytes(row.sealed), purpose=row.purpose) for row in rows}
