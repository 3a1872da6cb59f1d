"""Triggers and tables as migrations create them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations import CreateModel
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

# Triggers of a model, as its migrations have created them.
#
# A declaration says what holds for the table; the migration has the code. A test compares both with
# the database, so that neither is changed alone.


class DatabaseTrigger(NamedTuple):
    """A trigger: when it fires, for what, and the function that it runs.

    The words are those of Postgres (`pg_get_triggerdef`). `table` is empty for the model's own;
    `rows` names the tables of changed rows, and `arguments` are the function's.
    """

    name: str
    when: str
    each: str
    function: str
    table: str = ""
    rows: str = ""
    arguments: str = ""

    def create_sql(self) -> str:
        """Return the statement that a migration creates it by."""
        return (
            f"CREATE TRIGGER {self.name} {self.when} ON {self.table} {self.rows}"
            f" FOR EACH {self.each} EXECUTE FUNCTION {self.function}({self.arguments});"
        )

    def drop_sql(self) -> str:
        """Return the statement that takes it back."""
        return f"DROP TRIGGER {self.name} ON {self.table};"


Triggers = tuple[DatabaseTrigger, ...]


# Creation of many tables in one operation of a migration.
#
# Django renders its models anew after each operation, with all that are related to them: a table at
# a time, the first migration of the four apps takes ten seconds of processor time, and this way
# two.


class CreateTables(Operation):
    """Create tables that may refer to each other, in any order, with indexes and constraints."""

    serialization_expand_args = ["tables"]

    def __init__(self, tables: Sequence[CreateModel]) -> None:
        self.tables = tables

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Add the models; they are rendered when they are next asked for."""
        state.__dict__.pop("apps", None)
        for table in self.tables:
            table.state_forwards(app_label, state)

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        """Create the tables. Foreign keys follow at the end of the migration."""
        for table in self.tables:
            table.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        """Drop the tables, the last one first."""
        for table in reversed(self.tables):
            table.database_backwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        """Return what `migrate --plan` shows."""
        return f"Create {len(self.tables)} tables"

    def references_model(self, name: str, app_label: str) -> bool:
        """Return True if another operation on the model must not be moved past this one."""
        return True

    def deconstruct(self) -> tuple[str, Sequence[Any], dict[str, Any]]:
        """Return the arguments."""
        return type(self).__name__, [self.tables], {}
