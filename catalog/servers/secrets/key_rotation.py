"""Key rotation: re-encryption of all secrets with the newest key."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from cryptography.fernet import InvalidToken
from django.db.models import Model, QuerySet

from catalog.models import OAuthRevocation, Secret
from catalog.servers.secrets.encryption_keys import cipher


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
    keys, total = cipher(), sum(_rows(model, field).count() for model, field, _ in _SEALED)
    for done, (row, field, purpose) in enumerate(_all(), start=1):
        sealed = bytes(getattr(row, field))
        try:
            again = keys.rotate(sealed)
        except InvalidToken:
            rotated.lost.append(getattr(row, purpose))
        else:
            # Compare-and-set: a secret changed meanwhile was encrypted with the newest key already.
            _rows(type(row), field).filter(pk=row.pk, **{field: sealed}).update(**{field: again})
            rotated.sealed += 1
        progress(done, total)
    return rotated


# Columns of long-lived sealed bytes, each with the attribute that holds its purpose.
_SEALED: tuple[tuple[type[Model], str, str], ...] = (
    (Secret, "sealed", "purpose"),
    (OAuthRevocation, "sealed_token", "token_purpose"),
    (OAuthRevocation, "sealed_client", "client_purpose"),
)


def _rows(model: type[Model], field: str) -> QuerySet[Any]:
    return model._default_manager.exclude(**{field: b""}).order_by("pk")


def _all() -> Iterator[tuple[Any, str, str]]:
    for model, field, purpose in _SEALED:
        for row in _rows(model, field).iterator():
            yield row, field, purpose
