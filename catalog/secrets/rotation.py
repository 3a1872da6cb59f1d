"""Sealing everything again by the newest key."""

from collections.abc import Callable
from dataclasses import dataclass

from cryptography.fernet import InvalidToken

from catalog.models import Secret
from catalog.secrets.keys import cipher


@dataclass(slots=True)
class Rotated:
    """How many secrets are sealed by the newest key now, and which could not be opened."""

    sealed: int
    lost: list[str]


def rotate_secrets(progress: Callable[[int, int], None] = lambda done, total: None) -> Rotated:
    """Seal every secret by the first key; one that is changed meanwhile has been already."""
    rotated = Rotated(0, [])
    keys, total = cipher(), Secret.objects.count()
    for done, row in enumerate(Secret.objects.order_by("pk").iterator(), start=1):
        sealed = bytes(row.sealed)
        try:
            again = keys.rotate(sealed)
        except InvalidToken:
            rotated.lost.append(row.purpose)
        else:
            Secret.objects.filter(pk=row.pk, sealed=sealed).update(sealed=again)
            rotated.sealed += 1
        progress(done, total)
    return rotated
