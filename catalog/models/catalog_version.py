"""The catalogue's version number."""

from django.db import models


class CatalogVersion(models.Model):
    """A single row, incremented by triggers with every change.

    Caches carry the number in their keys, so no reader sees a mixed or stale state.
    """

    number = models.PositiveBigIntegerField(default=1)

    def __str__(self) -> str:
        return str(self.number)
