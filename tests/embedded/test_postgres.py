"""The embedded Postgres, with real processes."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg
import pytest

from marketplace.operate.embedded.data_folder import CannotRun
from marketplace.operate.embedded.postgres import EmbeddedPostgres

Start = Callable[..., EmbeddedPostgres]
pytestmark = pytest.mark.processes


def test_its_database_has_vectors(start: Start) -> None:
    server = start()

    server.create_database("shelf")
    server.create_database("shelf")

    with psycopg.connect(server.owner_url("shelf")) as connection:
        row = connection.execute("SELECT '[1,2]'::vector <-> '[1,3]'::vector").fetchone()
    assert row == (1.0,)


def test_only_its_account_can_reach_it(start: Start) -> None:
    server = start()

    assert server.process is not None
    assert psutil.Process(server.process.pid).net_connections(kind="inet") == []
    assert stat.S_IMODE(server.run.stat().st_mode) == 0o700
    assert stat.S_IMODE(server.folder.stat().st_mode) == 0o700


def test_nothing_of_our_environment_is_in_its_own(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEGBOARD_EMBEDDING_KEY", "sk-private")

    server = start()

    assert server.process is not None
    assert "sk-private" not in str(psutil.Process(server.process.pid).environ())


def test_committed_rows_survive_kill_9(start: Start) -> None:
    server = start(durable=True)
    server.create_database()
    with psycopg.connect(server.owner_url()) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    _kill(server)

    again = start(durable=True)

    with psycopg.connect(again.owner_url()) as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (7,)


def test_number_of_a_dead_server_may_be_anyones_now(start: Start) -> None:
    server = start()
    _kill(server)
    stale = server.folder / "postmaster.pid"
    lines = stale.read_text().splitlines()
    stale.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")

    again = start()

    assert again.is_ready()


def test_interrupted_first_start_is_begun_anew(data: Path, start: Start) -> None:
    (data / "postgres.new").mkdir()
    (data / "postgres.new" / "PG_VERSION").write_text("18\n")

    server = start()

    assert server.is_ready()


def test_data_of_another_postgres_is_refused(data: Path, start: Start) -> None:
    (data / "postgres").mkdir()
    (data / "postgres" / "PG_VERSION").write_text("16\n")

    with pytest.raises(
        CannotRun, match=r"belongs to Postgres 16, but this Pegboard includes Postgres 18"
    ):
        start()


def test_failed_start_tells_what_the_server_said(start: Start) -> None:
    server = start()
    server.stop()
    (server.folder / "postgresql.conf").write_text("shared_buffers = plenty\n")

    with pytest.raises(CannotRun, match=r"Postgres failed to start \(.*"):
        start()


def _kill(server: EmbeddedPostgres) -> None:
    assert server.process is not None
    server.process.kill()
    server.process.wait()
