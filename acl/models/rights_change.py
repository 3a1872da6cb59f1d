"""Changes of what rights depend on, counted and dated by the database itself."""

from collections.abc import Sequence
from typing import ClassVar

from django.db import models

from acl.platform.migration_operations import DatabaseTrigger, Triggers
from acl.platform.stored_json import StoredJSONField

# Changes of what rights depend on, as the database itself counts them.


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


# Periods of what rights depend on, kept by the database itself, to answer for past moments.

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
