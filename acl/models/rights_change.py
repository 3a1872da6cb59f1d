"""Changes of what rights depend on, as the database itself counts them."""

from collections.abc import Sequence
from typing import ClassVar

from django.db import models

from acl.platform.database_triggers import DatabaseTrigger, Triggers


class RightsChange(models.Model):
    """Change of rights that concerns one subject. Triggers add it in the transaction of the change.

    Rows are added and never updated, so that nobody waits for another's commit. The version of the
    rights is made from the random numbers of all rows that concern a caller (`rights_version`).
    """

    class Concern(models.IntegerChoices):
        EVERYONE = 0
        PERSON = 1
        GROUP = 2
        # What can be called: secrets and accounts, of a person or, with the key 0, of all.
        READINESS = 3
        APPLICATION = 4

    subject = models.SmallIntegerField(choices=Concern.choices)
    key = models.BigIntegerField(default=0)
    number = models.BigIntegerField(help_text="At random.")

    triggers: ClassVar[Triggers]

    class Meta:
        indexes = [
            models.Index(fields=["subject", "key"], include=["number"], name="acl_rights_changes")
        ]

    def __str__(self) -> str:
        return f"{self.get_subject_display()} {self.key}"


_ROWS = {
    "insert": "REFERENCING NEW TABLE AS new_rows",
    "update": "REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows",
    "delete": "REFERENCING OLD TABLE AS old_rows",
}


def counted_rows(table: str, subject: RightsChange.Concern, key: str) -> Triggers:
    """Declare the triggers of a table whose rows each concern a subject.

    `key` is the subject's key as SQL over a row `r`; NULL concerns nobody. Emptying the table
    concerns everybody.
    """
    by_row = (
        DatabaseTrigger(
            f"{table}_rights_{event}",
            f"AFTER {event.upper()}",
            "STATEMENT",
            "acl_count_rows",
            table=table,
            rows=rows,
            arguments=f"'{subject}', '{key}'",
        )
        for event, rows in _ROWS.items()
    )
    everyone = RightsChange.Concern.EVERYONE
    emptied = counted_event(f"{table}_rights_truncate", table, "TRUNCATE", "STATEMENT", everyone)
    return (*by_row, emptied)


def counted_columns(table: str, subject: RightsChange.Concern, columns: Sequence[str]) -> Triggers:
    """Declare the trigger of columns that concern everybody, or what anybody can call."""
    changed = " OR ".join(f"old.{column} IS DISTINCT FROM new.{column}" for column in columns)
    name = f"{table}_{subject.name.lower()}_columns"
    return (counted_event(name, table, "UPDATE", f"ROW WHEN ({changed})", subject),)


def counted_event(
    name: str, table: str, event: str, scope: str, subject: RightsChange.Concern
) -> DatabaseTrigger:
    """Declare a trigger that counts a change for all, whatever the rows say."""
    return DatabaseTrigger(
        name, f"AFTER {event}", scope, "acl_count_change", table=table, arguments=f"'{subject}'"
    )


_EVERYONE = RightsChange.Concern.EVERYONE
_PERSON, _GROUP = RightsChange.Concern.PERSON, RightsChange.Concern.GROUP
# Permissions have no model of ours: whoever changes what a codename means concerns everybody.
RightsChange.triggers = (
    *counted_rows("auth_user", _PERSON, "r.id"),
    *counted_rows("auth_user_groups", _PERSON, "r.user_id"),
    *counted_rows("auth_permission", _EVERYONE, "0"),
    *counted_rows("django_content_type", _EVERYONE, "0"),
    *counted_rows("acl_grouppolicy", _GROUP, "r.group_id"),
    *counted_rows("acl_space", _GROUP, "r.group_id"),
)
