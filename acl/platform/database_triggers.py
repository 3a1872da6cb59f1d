"""Triggers of a model, as its migrations have created them.

A declaration says what holds for the table; the migration has the code. A test compares both with
the database, so that neither is changed alone.
"""

from typing import NamedTuple


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
