"""Prepared statements over connections that Postgres may have closed."""

import psycopg
import pytest
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from acl.platform.database_connections import rows_of
from tests.databases import ended_by_postgres

pytestmark = pytest.mark.django_db(transaction=True)
NINE = "SELECT %(number)s::int"


def test_statement_that_may_be_repeated_finds_out_that_the_connection_has_ended() -> None:
    ended_by_postgres(connection)

    with CaptureQueriesContext(connection) as statements:
        assert rows_of(NINE, {"number": 9}, twice=True) == [(9,)]

    # Tests run a statement of their own on each new connection.
    asked = [one for one in statements if not str(one["sql"]).startswith("SET pegboard")]
    assert len(asked) <= 2


def test_other_statements_ask_first_once_in_a_request() -> None:
    ended_by_postgres(connection)

    assert rows_of(NINE, {"number": 9}) == [(9,)]


def test_within_a_transaction_nothing_is_repeated() -> None:
    with transaction.atomic():
        ended_by_postgres(connection)
        connection.health_check_done = True  # type: ignore[attr-defined]

        with pytest.raises(OperationalError):
            rows_of(NINE, {"number": 9}, twice=True)
        transaction.set_rollback(True)


def test_database_that_is_away_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[object] = []

    def refuse(parameters: object) -> None:
        tried.append(parameters)
        raise psycopg.OperationalError("away")

    connection.close()
    monkeypatch.setattr(connection, "get_new_connection", refuse)

    with pytest.raises(OperationalError):
        rows_of(NINE, {"number": 9}, twice=True)
    assert len(tried) == 1
