"""Periods of what rights depend on, kept by the database itself, to answer for past moments."""

from collections.abc import Sequence
from typing import ClassVar

from django.db import models

from acl.platform.database_triggers import DatabaseTrigger, Triggers
from acl.platform.stored_json import StoredJSONField

KEEPER = "acl_keep_periods"


class RightsPeriod(models.Model):
    """Facts of one row that rights depend on, for as long as they were so.

    Triggers write them (`0022_rights_periods`), so that a cascade and a person at psql are kept as
    well; the application's role may only read them. One row without a table says since when all of
    it is complete.
    """

    table = models.CharField(max_length=63)
    key = models.BigIntegerField(help_text="Of the row.")
    facts = StoredJSONField(help_text="The columns that rights read, and names.")
    began = models.DateTimeField()
    ended = models.DateTimeField(null=True)

    triggers: ClassVar[Triggers]

    class Meta:
        default_permissions = ()
        indexes = [
            models.Index(fields=["table", "began"], name="acl_periods_of_table"),
            models.Index(
                fields=["table", "key"],
                condition=models.Q(ended=None),
                name="acl_periods_open",
            ),
            models.Index(fields=["ended"], name="acl_periods_over"),
        ]

    def __str__(self) -> str:
        return f"{self.table} {self.key}"


def kept_periods(table: str, columns: Sequence[str]) -> Triggers:
    """Declare the triggers that keep the periods of a table's rows, by these columns."""
    arguments = ", ".join(f"'{column}'" for column in ("id", *columns))
    changed = " OR ".join(f"old.{column} IS DISTINCT FROM new.{column}" for column in columns)
    scopes = {
        "insert": ("STATEMENT", "REFERENCING NEW TABLE AS new_rows"),
        "delete": ("STATEMENT", "REFERENCING OLD TABLE AS old_rows"),
        "truncate": ("STATEMENT", ""),
        # Most updates are of other columns: these cost nothing.
        "update": (f"ROW WHEN ({changed})", ""),
    }
    return tuple(
        DatabaseTrigger(
            f"{table}_periods_{event}",
            f"AFTER {event.upper()}",
            scope,
            KEEPER,
            table=table,
            rows=rows,
            arguments=arguments,
        )
        for event, (scope, rows) in scopes.items()
    )


RightsPeriod.triggers = (
    *kept_periods("auth_user", ["username", "is_active"]),
    *kept_periods("auth_group", ["name"]),
    *kept_periods("auth_user_groups", ["user_id", "group_id"]),
    *kept_periods("acl_grouppolicy", ["group_id", "open_default"]),
    *kept_periods("acl_space", ["group_id", "parent_id", "slug", "name"]),
)
