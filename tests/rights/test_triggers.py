"""Triggers: the database has those that the models declare, and no others."""

import re
from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db import connection

from acl.platform.database_triggers import DatabaseTrigger

pytestmark = pytest.mark.django_db
_DEFINITION = re.compile(
    r"CREATE (?:CONSTRAINT )?TRIGGER (?P<name>\w+) (?P<events>.+) ON public\.(?P<table>\w+) "
    r"(?:NOT DEFERRABLE INITIALLY IMMEDIATE |(?P<deferred>DEFERRABLE INITIALLY DEFERRED) )?"
    r"(?:(?P<rows>REFERENCING .+) )?"
    r"FOR EACH (?P<each>.+) EXECUTE FUNCTION (?P<function>\w+)\((?P<arguments>.*)\)"
)


def declared() -> Iterator[DatabaseTrigger]:
    for model in apps.get_models():
        for one in getattr(model, "triggers", ()):
            each = one.each.replace("::text", "")
            yield one._replace(table=one.table or model._meta.db_table, each=each)


def stored() -> Iterator[DatabaseTrigger]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal")
        for (text,) in cursor.fetchall():
            found = _DEFINITION.fullmatch(text)
            assert found is not None, text
            when = " ".join(filter(None, (found["events"], found["deferred"])))
            each = re.sub(r"WHEN \(\((.+)\)\)", _without_brackets, found["each"])
            yield DatabaseTrigger(
                *(found["name"], when, each, found["function"], found["table"]),
                *(found["rows"] or "", found["arguments"]),
            )


def _without_brackets(condition: re.Match[str]) -> str:
    return f"WHEN ({re.sub(r'[()]|::text', '', condition[1])})"


def test_every_trigger_is_declared_by_a_model_and_every_declared_one_is_there() -> None:
    assert sorted(stored()) == sorted(declared())


def test_every_trigger_is_on() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled NOT IN ('O', 'A')"
        )
        assert cursor.fetchall() == []
