"""Versions of what the candidate index is built from, beside the catalogue's own."""

from django.db import models

from acl.platform.database_triggers import DatabaseTrigger


class IndexVersion(models.Model):
    """A counter, one of several, which triggers increment with every change of vectors, words and
    relations.

    A change takes any counter that is free, so no transaction waits for another one's. Together
    they are the version: no two states have the same.
    """

    number = models.PositiveBigIntegerField(default=1)

    def __str__(self) -> str:
        return str(self.number)


def count_index_change(table: str, *columns: str) -> DatabaseTrigger:
    """Declare the trigger of a table that the index is built from (`0023_index_version`)."""
    updates = f"UPDATE OF {', '.join(columns)}" if columns else "UPDATE"
    return DatabaseTrigger(
        f"{table}_indexed",
        f"AFTER INSERT OR DELETE OR {updates}",
        "STATEMENT",
        "catalog_count_index_change",
    )
