"""Re-reading of servers' definitions: scheduled, exclusive, and summed up where lists flap."""

import asyncio
import sys
import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from subprocess import PIPE, Popen
from time import sleep
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

from acl.models import AuditEntry
from acl.platform.database_work import lock_key
from catalog.locks import sync_key, try_sync_lock
from catalog.models import Capability, Definition, Integration, Sync
from catalog.registration.definition_comparison import DIFFERENCES, store_definitions
from catalog.servers import tasks
from catalog.servers.call_needs import load_call_needs
from catalog.servers.client.mcp_session import Tools
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.connections import _definition_check, server_requests
from catalog.servers.connections._definition_check import SyncDebouncer
from catalog.servers.connections.server_requests import call_tool
from catalog.servers.tasks import MAX_SYNCS, BusyError, sync_definitions
from tests.connection_loops import own_connections
from tests.connections.evil_server import text_of
from tests.factories import IntegrationFactory, UserFactory, active_model

# Answers each request with the file's current content; counts executed calls.
SERVER = textwrap.dedent(
    """
    import json, sys
    done = 0
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        method, answer = asked.get("method"), {}
        if method == "initialize":
            answer = {"protocolVersion": asked["params"]["protocolVersion"],
                      "capabilities": {"tools": {"listChanged": True}},
                      "serverInfo": {"name": "two-faced", "version": "1"}}
        elif method == "tools/list":
            told = json.load(open(sys.argv[1]))
            answer = {"tools": [told]}
        elif method == "tools/call":
            done += 1
            if asked["params"]["arguments"]:
                print('{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}',
                      flush=True)
            answer = {"content": [{"type": "text", "text": str(done)}]}
        else:
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"],
                              "error": {"code": -32601, "message": "no"}}), flush=True)
            continue
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
    """
)
GOOD = '{"name": "read", "description": "Reads.", "inputSchema": {"type": "object"}}'
BAD = GOOD.replace("Reads.", "Reads all.")


class TwoFaced:
    """A server whose definitions change on the test's command."""

    def __init__(self, folder: Path, by: User) -> None:
        self._file = folder / "says.json"
        (folder / "server.py").write_text(SERVER)
        self.says(GOOD)
        self.row: Integration = IntegrationFactory.create(
            slug="faces",
            transport="stdio",
            command=[sys.executable, "-I", str(folder / "server.py"), str(self._file)],
        )
        tools = server_requests.check_server(self.row)
        store_definitions(integration=self.row, tools=tools.tools, by=by)

    def says(self, definition: str) -> None:
        self._file.write_text(definition)

    def call(self, **arguments: Any) -> str:
        return text_of(call_tool(self.row, "read", arguments))


@pytest.fixture
def faces(settings: Settings, tmp_path: Path) -> Iterator[TwoFaced]:
    settings.PEGBOARD_LAUNCHERS = (sys.executable,)
    active_model()
    with own_connections(_definition_check.build_connections):
        yield TwoFaced(tmp_path, UserFactory.create())


def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    announced: list[tuple[str, ...]] = []
    monkeypatch.setattr(_definition_check, "schedule_sync", lambda *said: announced.append(said))
    return announced


@pytest.mark.django_db
def test_what_was_not_approved_is_never_executed(
    faces: TwoFaced, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server alternates between requests: only approved definitions are executed."""
    settings.PEGBOARD_VERIFY_SECONDS = 0
    announced = told(monkeypatch)
    outcomes: list[Any] = []
    for turn in range(6):
        faces.says((GOOD, BAD)[turn % 2])
        try:
            outcomes.append(faces.call())
        except ServerProblemError as problem:
            outcomes.append((problem.reason, problem.sent))

    refused = (Reason.CHANGED, False)
    assert outcomes == ["1", refused, "2", refused, "3", refused]
    assert announced == [(f"{faces.row.pk}/all", "call")] * 3


@pytest.mark.django_db
def test_word_of_a_moment_ago_is_good_and_a_waiting_tool_is_not_called(
    faces: TwoFaced, settings: Settings
) -> None:
    settings.PEGBOARD_VERIFY_SECONDS = 3600
    faces.call()
    faces.says(BAD)

    assert faces.call() == "2"
    sync_definitions(faces.row.pk)
    with pytest.raises(ServerProblemError) as problem:
        faces.call()
    assert problem.value.reason is Reason.CHANGED


@pytest.mark.django_db
def test_server_that_says_so_is_asked_before_the_next_call(
    faces: TwoFaced, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PEGBOARD_VERIFY_SECONDS = 3600
    announced = told(monkeypatch)
    faces.call()
    faces.says(BAD)

    faces.call(announce=True)
    while not announced:
        sleep(0.01)

    with pytest.raises(ServerProblemError):
        faces.call()
    assert announced == [(f"{faces.row.pk}/all",), (f"{faces.row.pk}/all", "call")]


@pytest.mark.django_db
def test_readings_are_written_down_and_quiet_ones_only_once(faces: TwoFaced) -> None:
    for definition in (GOOD, GOOD, BAD, BAD, BAD):
        faces.says(definition)
        sync_definitions(faces.row.pk)
    Integration.objects.update(required_secrets=["TOKEN"])
    sync_definitions(faces.row.pk, Sync.Cause.PERSON)

    rows = Sync.objects.order_by("pk").values_list("changed", "reason", "cause")
    assert list(rows) == [
        ([], "", "schedule"),
        (["read"], "", "schedule"),
        ([], "", "schedule"),
        ([], "sign_in_needed", "person"),
    ]
    assert Capability.objects.get().state == "quarantined"
    past = (Sync(integration=faces.row, changed=["x"]) for _ in range(MAX_SYNCS + 5))
    Sync.objects.bulk_create(past)
    sync_definitions(faces.row.pk)
    assert Sync.objects.count() == MAX_SYNCS


@pytest.mark.django_db
def test_only_servers_in_use_are_read(faces: TwoFaced) -> None:
    Integration.objects.update(enabled=False)
    off = sync_definitions(faces.row.pk)
    Integration.objects.update(enabled=True, state="pending")

    assert (off, sync_definitions(faces.row.pk), Sync.objects.count()) == (None, None, 0)


HOLDER = "SELECT pg_advisory_lock(%s)"


@pytest.mark.django_db(transaction=True)
def test_one_reading_at_a_time_and_who_dies_lets_go() -> None:
    """REL-19: the lock holder is another process, killed without cleaning up."""
    server = IntegrationFactory.create(transport="http", endpoint="https://192.0.2.1/")
    code = (
        "import sys, psycopg\n"
        "conn = psycopg.connect(sys.argv[1], autocommit=True)\n"
        f"conn.execute({HOLDER!r}, [int(sys.argv[2])])\n"
        "print('held', flush=True); sys.stdin.read()\n"
    )
    where = psycopg.conninfo.make_conninfo(**_connection())
    lock = lock_key(sync_key(server.pk))
    command = [sys.executable, "-c", code, where, str(lock)]
    with Popen(command, stdin=PIPE, stdout=PIPE) as holder:  # noqa: S603 - ours
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(BusyError):
            sync_definitions(server.pk)
        holder.kill()

    # Postgres frees the lock when it next looks at the socket of the holder. On a busy machine that
    # takes a while, so the limit is there only to end a test that would otherwise hang.
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '60s'")
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [lock])
    with try_sync_lock(server.pk) as mine:
        assert mine


def _connection() -> dict[str, Any]:
    given = connection.get_connection_params()
    return {
        name: given[name]
        for name in ("dbname", "user", "password", "host", "port")
        if given.get(name)
    }


def test_many_words_of_a_server_are_one_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, str]] = []
    monkeypatch.setattr(
        "catalog.servers.connections._definition_check.send_now", lambda _, *what: sent.append(what)
    )

    async def say() -> None:
        announced = SyncDebouncer(wait_seconds=0.01)
        for key in ("7/all", "7/3", "7/all", "8/all"):
            announced(key)
        while len(sent) < 2:
            await asyncio.sleep(0.005)
        announced("7/all")
        while len(sent) < 3:
            await asyncio.sleep(0.005)

    asyncio.run(say())

    assert sorted(sent) == [(7, "announced"), (7, "announced"), (8, "announced")]


def test_no_definition_is_no_pin(db: None) -> None:
    imported = IntegrationFactory.create()

    assert load_call_needs(imported, "read").pin == ""
    assert not Definition.objects.exists()


class Clock:
    """The time of an event loop, moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.due: list[tuple[float, Any]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, wait: float, work: Any, *arguments: Any) -> None:
        self.due.append((self.now + wait, lambda: work(*arguments)))

    def run_in_executor(self, executor: None, *work: Any) -> None:
        """Count the task as sent."""

    def run_until(self, end: float) -> int:
        done = [(at, work) for at, work in self.due if at <= end]
        self.due = [(at, work) for at, work in self.due if at > end]
        for _, work in done:
            work()
        self.now = end
        return len(done)


def test_list_that_changes_for_a_week_is_read_less_and_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, debounce = Clock(), SyncDebouncer(2.0)
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: clock)

    def syncs(seconds: int, every: int) -> int:
        sent = 0
        for _ in range(seconds // every):
            debounce("7/all")
            sent += clock.run_until(clock.now + every)
        return sent

    first_day = syncs(24 * 3_600, every=2)
    week = first_day + syncs(6 * 24 * 3_600, every=20)
    clock.run_until(clock.now + 8 * 3_600)  # a quiet night
    after = syncs(10, every=5)

    assert first_day <= 40
    assert week <= 7 * 24 + 20
    assert after >= 2  # a change is read at once again


DAY = datetime(2026, 3, 2, tzinfo=UTC)
NAMES = ("read", "write", "list")


class Flapping:
    """A server whose list is set by hand, at a time that is set by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.texts = DAY, dict[str, str]()
        self.row: Integration = IntegrationFactory.create(
            slug="flaps", transport="http", endpoint="https://a.example/"
        )
        monkeypatch.setattr(timezone, "now", self.tick)
        monkeypatch.setattr(tasks, "check_server", lambda _: Tools(self.tools()))

    def tick(self) -> datetime:
        """Return the time, which goes on a little whenever it is asked for."""
        self.now += timedelta(microseconds=1)
        return self.now

    def tools(self) -> list[dict[str, Any]]:
        schema = {"type": "object"}
        return [
            {"name": name, "description": text, "inputSchema": schema}
            for name, text in self.texts.items()
        ]

    def read(self, after: timedelta) -> dict[str, list[str]]:
        """Read the list again, and return what differed."""
        self.now += after
        sync = sync_definitions(self.row.pk, "announced")
        assert sync is not None
        return {kind: getattr(sync, kind) for kind in DIFFERENCES if getattr(sync, kind)}


@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(3))
def test_day_of_a_flapping_list_is_an_entry_an_hour_with_a_count(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    active_model()
    random, server, differed = Random(seed), Flapping(monkeypatch), list[dict[str, list[str]]]()
    for _ in range(24 * 6):
        server.texts = {
            name: random.choice(("Reads.", "Reads all.")) for name in NAMES if random.random() < 0.7
        }
        differed.append(server.read(timedelta(minutes=10)))
    server.texts = {}
    differed += [server.read(timedelta(hours=2)), server.read(timedelta(hours=2))]

    entries = list(AuditEntry.objects.filter(action="definition.differs").order_by("pk"))
    found = [one for one in differed if one]
    assert len(found) > 90
    assert len(entries) <= 26 + len(NAMES) * len(DIFFERENCES)
    assert sum(entry.details.get("times", 1) for entry in entries) == len(found)
    for kind in DIFFERENCES:
        told = {name for entry in entries for name in entry.details.get(kind, [])}
        assert told == {name for one in found for name in one.get(kind, [])}


@pytest.mark.django_db
def test_what_the_last_hour_has_not_told_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    active_model()
    server, minute = Flapping(monkeypatch), timedelta(minutes=1)
    for number in range(5):
        server.texts = dict.fromkeys(NAMES[: 1 + number % 2], "Reads.")
        server.read(minute)
    entries = AuditEntry.objects.filter(action="definition.differs")
    before = entries.count()
    server.texts["list"] = "Lists."
    server.read(minute)

    last = entries.latest("pk")
    assert (entries.count(), last.details["new"][0]) == (before + 1, "list")
    assert server.now - last.at < timedelta(seconds=1)
