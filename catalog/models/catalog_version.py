"""A number that grows with every change of the catalogue."""

from django.db import models


class CatalogVersion(models.Model):
    """One row; caches carry its number in their keys, so no reader gets a mixed or stale state."""

    number = models.PositiveBigIntegerField(default=1)

    def __str__(self) -> str:
        return str(self.number)
