"""The disk guard, on a real Postgres; its bounds are moved instead of filling the disk."""

import shutil
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.errors import ReadOnlySqlTransaction

from marketplace.operate.embedded import disk_guard
from marketplace.operate.embedded.disk_guard import RESERVE, DiskGuard
from marketplace.operate.embedded.postgres import EmbeddedPostgres

pytestmark = pytest.mark.processes


class Guarded:
    """A guard whose disk has as much room as the test says."""

    def __init__(self, server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
        self.output: list[str] = []
        self.releases = 0
        self.reserve = server.folder.with_name("disk_reserve")
        self._monkeypatch = monkeypatch
        self._guard = DiskGuard(server, say=self.output.append, released=self._count)

    def look(self, *, full: bool) -> None:
        free = shutil.disk_usage(self.reserve.parent).free
        self._monkeypatch.setattr(disk_guard, "HOLD_BELOW", free * 2 if full else 0)
        self._monkeypatch.setattr(disk_guard, "RELEASE_ABOVE", free * 2 if full else 0)
        self._guard.look()

    def _count(self) -> None:
        self.releases += 1


@pytest.fixture
def guarded(shared: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guarded]:
    guarded = Guarded(shared, monkeypatch)
    yield guarded
    guarded.look(full=False)


def is_held(server: EmbeddedPostgres) -> bool:
    """Return what a session sees once the server has read its file again."""
    with psycopg.connect(server.url(), autocommit=True) as session:
        row = session.execute("SHOW default_transaction_read_only").fetchone()
    return row == ("on",)


def wait_until_held(server: EmbeddedPostgres, held: bool) -> None:
    for _ in range(1000):
        if is_held(server) == held:
            return
    raise AssertionError(f"writes are still {'allowed' if held else 'held'}")


def test_full_disk_holds_writes_and_room_releases_them(
    shared: EmbeddedPostgres, guarded: Guarded
) -> None:
    with psycopg.connect(shared.owner_url(), autocommit=True) as owner:
        owner.execute("CREATE TABLE IF NOT EXISTS note (text text)")
        assert guarded.reserve.stat().st_size == RESERVE

        guarded.look(full=True)
        wait_until_held(shared, True)

        with pytest.raises(ReadOnlySqlTransaction):
            owner.execute("INSERT INTO note VALUES ('x')")
        assert owner.execute("SELECT count(*) FROM note").fetchone() is not None
        assert not guarded.reserve.exists()

        guarded.look(full=False)
        wait_until_held(shared, False)

        owner.execute("INSERT INTO note VALUES ('x')")
    assert guarded.reserve.stat().st_size == RESERVE
    assert len(guarded.output) == 2
    assert guarded.releases == 1


def test_it_is_said_once_however_often_it_is_looked(
    shared: EmbeddedPostgres, guarded: Guarded
) -> None:
    for _ in range(3):
        guarded.look(full=True)

    wait_until_held(shared, True)
    assert len(guarded.output) == 1
    assert guarded.releases == 0
