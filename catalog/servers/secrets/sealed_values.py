"""Encryption of secrets, bound to their row, and their re-encryption with the newest key."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from cryptography.fernet import InvalidToken
from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _

from catalog.models import Integration, OAuthRevocation, Secret
from catalog.servers.secrets.encryption_keys import SecretUnavailableError, cipher

# Columns of long-lived sealed bytes, each with the attribute that holds its purpose.
_SEALED: tuple[tuple[type[Model], str, str], ...] = (
    (Secret, "sealed", "purpose"),
    (OAuthRevocation, "sealed_token", "token_purpose"),
    (OAuthRevocation, "sealed_client", "client_purpose"),
)


def seal(value: str, *, purpose: str) -> bytes:
    """Encrypt a value for one purpose: moved to another row, it does not decrypt."""
    return cipher().encrypt(json.dumps([purpose, value]).encode())


def unseal(sealed: bytes, *, purpose: str) -> str:
    """Decrypt a value sealed for this purpose, or raise SecretUnavailableError."""
    try:
        stored_purpose, value = json.loads(cipher().decrypt(sealed))
    except InvalidToken:
        raise SecretUnavailableError(
            _("A secret was encrypted with a key that no longer exists. Set it again.")
        ) from None
    if stored_purpose != purpose:
        raise SecretUnavailableError(_("A secret was encrypted for another use. Set it again."))
    return str(value)


def values_for(integration: Integration, *, user_id: int | None = None) -> dict[str, str]:
    """Return the decrypted secrets of an integration, personal ones before shared ones.

    One secret that cannot be decrypted fails all: half a set of credentials is never sent.
    """
    rows = Secret.objects.for_use(integration, user_id=user_id)
    return {row.name: unseal(bytes(row.sealed), purpose=row.purpose) for row in rows}


@dataclass(slots=True)
class RotationReport:
    """The number of re-encrypted secrets, and the ones that could not be decrypted."""

    sealed: int
    lost: list[str]


def rotate_secrets(
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> RotationReport:
    """Re-encrypt every secret with the first key."""
    rotated = RotationReport(0, [])
    keys, total = cipher(), sum(_with_sealed(model, field).count() for model, field, _ in _SEALED)
    for done, (row, field, purpose) in enumerate(_iterate_sealed(), start=1):
        sealed = bytes(getattr(row, field))
        try:
            again = keys.rotate(sealed)
        except InvalidToken:
            rotated.lost.append(getattr(row, purpose))
        else:
            # Compare-and-set: a secret changed meanwhile was encrypted with the newest key already.
            _with_sealed(type(row), field).filter(pk=row.pk, **{field: sealed}).update(
                **{field: again}
            )
            rotated.sealed += 1
        progress(done, total)
    return rotated


def _with_sealed(model: type[Model], field: str) -> QuerySet[Any]:
    return model._default_manager.exclude(**{field: b""}).order_by("pk")


def _iterate_sealed() -> Iterator[tuple[Any, str, str]]:
    for model, field, purpose in _SEALED:
        for row in _with_sealed(model, field).iterator():
            yield row, field, purpose
