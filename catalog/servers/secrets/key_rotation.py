"""Sealing everything again by the newest key."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from cryptography.fernet import InvalidToken
from django.db.models import Model, QuerySet

from catalog.models import OAuthRevocation, Secret
from catalog.servers.secrets.encryption_keys import cipher


@dataclass(slots=True)
class Rotated:
    """How many secrets are sealed by the newest key now, and which could not be opened."""

    sealed: int
    lost: list[str]


def rotate_secrets(progress: Callable[[int, int], None] = lambda done, total: None) -> Rotated:
    """Seal every secret by the first key; one that is changed meanwhile has been already."""
    rotated = Rotated(0, [])
    keys, total = cipher(), sum(_rows(model, field).count() for model, field, _ in _SEALED)
    for done, (row, field, purpose) in enumerate(_all(), start=1):
        sealed = bytes(getattr(row, field))
        try:
            again = keys.rotate(sealed)
        except InvalidToken:
            rotated.lost.append(getattr(row, purpose))
        else:
            _rows(type(row), field).filter(pk=row.pk, **{field: sealed}).update(**{field: again})
            rotated.sealed += 1
        progress(done, total)
    return rotated


# Where sealed bytes are that outlast an hour, and what says for what each was sealed.
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
