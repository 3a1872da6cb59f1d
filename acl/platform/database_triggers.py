"""Triggers of a model, as its migrations have created them.

A declaration says what holds for the table; the migration has the code. A test compares both with
the database, so that neither is changed alone.
"""

from typing import NamedTuple


class DatabaseTrigger(NamedTuple):
    """A trigger: when it fires, for what, and the function that it runs.

    The words are those of Postgres (`pg_get_triggerdef`). `table` is empty for the model's own.
    """

    name: str
    when: str
    each: str
    function: str
    table: str = ""


Triggers = tuple[DatabaseTrigger, ...]
