"""The checks of an installation: one registry, and a made failure of each wherever it is shown."""

import json
import re
import shutil
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest
import time_machine
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from django.test import Client, override_settings
from django.utils.html import escape

from acl.audit.recorder import record
from acl.platform import processes
from acl.platform.read_replica import read_replica
from acl.platform.redis_circuit import attempt, redis_circuit
from acl.platform.task_names import NOTIFY
from catalog.embedding import configured_embedder
from catalog.embedding.embedder import EmbedderUnavailable
from catalog.servers.cell.report import KEY as CELLS
from catalog.servers.cell.report import CellReport
from marketplace.config.celery import app
from marketplace.models import AuditAnchor
from marketplace.operate.backups.service import BACKED_UP
from marketplace.operate.checkup.checks import basics, content, machine
from marketplace.operate.checkup.registry import (
    ADVICE,
    OK,
    PROBLEM,
    CheckFinding,
    all_checks,
    check,
    run_checks,
)
from marketplace.operate.checkup.visits import KEY as VISIT
from marketplace.operate.checkup.visits import Visit, newest_visit
from marketplace.operate.embedded.disk_guard import BrokenPart, write_broken_parts
from tests.catalog.builders import store, tool
from tests.docs.commands import PROJECT
from tests.ports import free_port

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class World:
    """Installation of a test that breaks it; the stack mends it again."""

    patching: pytest.MonkeyPatch
    folder: Path
    stack: ExitStack

    def set(self, **values: object) -> None:
        self.stack.enter_context(override_settings(**values))

    def travel(self, **by: float) -> None:
        self.stack.enter_context(time_machine.travel(datetime.now(UTC) + timedelta(**by)))


Break = Callable[[World], object]
_KEYS = (processes.KEY, processes.CONNECTIONS_KEY, processes.BEAT, CELLS, VISIT, *basics.QUEUES)


@pytest.fixture(autouse=True)
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Make an installation with nothing to complain of."""
    forget(*_KEYS)
    for key in _KEYS[:3]:
        processes.note_alive(key)
    record(by=None, action=BACKED_UP, target="pegboard.backup")
    monkeypatch.setattr(basics, "_migrations_applied", [])
    mail = "django.core.mail.backends.locmem.EmailBackend"
    with (
        ExitStack() as stack,
        override_settings(PEGBOARD_DATA_DIR=tmp_path, EMAIL_BACKEND=mail),
    ):
        yield World(monkeypatch, tmp_path, stack)
    redis_circuit.close()
    forget(*_KEYS)


def forget(*keys: str) -> None:
    attempt(lambda redis: redis.delete(*keys), default=None)


def put(key: str, value: object) -> None:
    attempt(lambda redis: redis.set(key, json.dumps(value)), default=None)


def forgotten(key: str) -> Break:
    return lambda _world: forget(key)


def patched(module: object, name: str, value: object) -> Break:
    return lambda world: world.patching.setattr(module, name, value)


def changed(**values: object) -> Break:
    return lambda world: world.set(**values)


def visited(visit: Visit, *, trust: bool = False, https: bool = False) -> Break:
    def break_(world: World) -> None:
        put(VISIT, asdict(visit))
        world.set(PEGBOARD_TRUST_PROXY=trust, SESSION_COOKIE_SECURE=https)

    return break_


def redis_tells(**facts: object) -> Break:
    return patched(basics, "attempt", lambda _call, default: facts)


def old_task(world: World) -> None:
    with time_machine.travel(datetime.now(UTC) - timedelta(minutes=9)):
        app.send_task(NOTIFY, queue="servers")


def missing_migration(world: World) -> None:
    plan = [("marketplace", "0001")]
    world.patching.setattr(MigrationExecutor, "migration_plan", lambda *_: plan)


def raising(error: Exception) -> Callable[..., object]:
    def fail(*_: object, **__: object) -> object:
        raise error

    return fail


def no_model(world: World) -> None:
    lazy = configured_embedder.LazyEmbedder(raising(EmbedderUnavailable("The file is missing.")))  # type: ignore[arg-type]
    world.patching.setitem(configured_embedder._providers, settings.PEGBOARD_EMBEDDER, lazy)


def given_up(world: World) -> None:
    store(tool("send_email"))
    world.set(PEGBOARD_EMBEDDING_ATTEMPTS=0)


def late_anchor(world: World) -> None:
    world.set(PEGBOARD_AUDIT_ANCHOR="syslog")
    AuditAnchor.objects.update_or_create(pk=1, defaults={"failure": "The file is full."})


def control_group(**files: str) -> Break:
    def break_(world: World) -> None:
        (world.folder / "memory").mkdir()
        for name, text in files.items():
            old = name in {"oom_control", "limit_in_bytes"}  # of the first version
            (world.folder / ("memory" if old else "") / f"memory.{name}").write_text(text)
        world.patching.setattr(machine, "GROUP", world.folder)

    return break_


def part_down(world: World) -> None:
    write_broken_parts(world.folder, {"Worker": BrokenPart(3, "it ended with 1")})


def old_backup(world: World) -> None:
    world.travel(days=9)
    for key in _KEYS[:3]:
        processes.note_alive(key)


def mail_server(*, greets: bool) -> Break:
    """Name a port where nobody listens, or where somebody speaks another language."""

    def break_(world: World) -> None:
        port = free_port()
        if greets:
            listening = world.stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            port = listening.getsockname()[1]
            threading.Thread(target=refuse_once, args=[listening], daemon=True).start()
        world.set(
            EMAIL_BACKEND="django.core.mail.backends.smtp.EmailBackend",
            EMAIL_HOST="127.0.0.1", EMAIL_PORT=port, EMAIL_USE_TLS=False,
        )  # fmt: skip

    return break_


def refuse_once(listening: socket.socket) -> None:
    for _time in range(2):  # the command is run twice
        connection, _address = listening.accept()
        with connection:
            connection.sendall(b"554 No mail here\r\n")


def certificate(
    name: str = "pegboard.example",
    days: float = 90,
    *,
    trusted: bool = False,
    lifetime: timedelta = timedelta(days=190),
) -> Break:
    """Serve a certificate at the place where the proxy is."""

    def break_(world: World) -> None:
        file = write_certificate(world.folder / "proxy.pem", name, days, lifetime)
        port = world.stack.enter_context(serving(file))
        world.set(
            CSRF_TRUSTED_ORIGINS=["https://pegboard.example", "http://localhost:8000"],
            PEGBOARD_PROXY_PLACE=f"127.0.0.1:{port}",
        )
        if trusted:
            world.patching.setenv("SSL_CERT_FILE", str(file))

    return break_


def write_certificate(file: Path, name: str, days: float, lifetime: timedelta) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    end = datetime.now(UTC) + timedelta(days=days, minutes=1)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    built = x509.CertificateBuilder(
        subject, subject, key.public_key(), x509.random_serial_number(),
        end - lifetime, end,
    )  # fmt: skip
    built = built.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    built = built.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    pem = serialization.Encoding.PEM
    form, open_ = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file.write_bytes(
        key.private_bytes(pem, form, open_) + built.sign(key, hashes.SHA256()).public_bytes(pem)
    )
    return file


@contextmanager
def serving(file: Path) -> Iterator[int]:
    """Shake hands with whoever comes; return the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _address = listening.accept()
            except OSError:
                return
            try:
                context.wrap_socket(connection, server_side=True).close()
            except OSError:
                connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield int(listening.getsockname()[1])
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def nobody_listens(world: World) -> None:
    world.set(CSRF_TRUSTED_ORIGINS=[f"https://localhost:{free_port()}"])


_DOOR = "pegboard.example"
# Failures of each check with the state that each has. A NEW CHECK NEEDS A LINE HERE.
FAILURES: dict[str, list[tuple[str, Break]]] = {
    "audit": [(PROBLEM, late_anchor)],
    "backup": [
        (PROBLEM, old_backup),
        (ADVICE, patched(content, "BACKED_UP", "database.none")),
    ],
    "beat": [(PROBLEM, forgotten(processes.BEAT))],
    "cells": [(PROBLEM, lambda _world: put(CELLS, asdict(CellReport("required", "No bwrap."))))],
    "certificate": [
        (PROBLEM, certificate(days=-3)),
        (PROBLEM, certificate(days=2)),
        (PROBLEM, certificate("other.example", trusted=True)),
        (ADVICE, certificate()),
        (ADVICE, nobody_listens),
    ],
    "clock": [
        (PROBLEM, lambda world: world.travel(hours=2)),
        (PROBLEM, lambda world: world.travel(minutes=-2)),
    ],
    "connections": [(PROBLEM, forgotten(processes.CONNECTIONS_KEY))],
    "database": [
        (PROBLEM, patched(connection, "cursor", raising(OperationalError()))),
    ],
    "database_version": [
        (PROBLEM, patched(basics, "LEAST_POSTGRES", 99)),
        (PROBLEM, patched(basics, "LEAST_PGVECTOR", (99, 0))),
    ],
    "disk": [
        (PROBLEM, lambda world: (
            world.patching.setattr(machine, "LEAST_FREE_BYTES", 2**60),
            world.patching.setattr(machine, "ENOUGH_FREE_BYTES", 2**60),
        )),
        (ADVICE, patched(machine, "ENOUGH_FREE_BYTES", 2**60)),
        (PROBLEM, patched(machine, "was_short_of_room", lambda: True)),
    ],
    "embeddings": [(PROBLEM, given_up)],
    "mail": [
        (ADVICE, changed(EMAIL_BACKEND="django.core.mail.backends.console.EmailBackend")),
        (PROBLEM, mail_server(greets=False)),
        (PROBLEM, mail_server(greets=True)),
    ],
    "memory": [
        (PROBLEM, control_group(events="low 0\noom 3\noom_kill 2\n", max="max")),
        (PROBLEM, control_group(oom_control="under_oom 0\noom_kill 1\n")),
        (ADVICE, control_group(limit_in_bytes=str(300 * 1024**2))),
        (ADVICE, control_group(max=str(300 * 1024**2))),
    ],
    "migrations": [(PROBLEM, missing_migration)],
    "model": [(PROBLEM, no_model)],
    "processes": [(PROBLEM, part_down)],
    "proxy": [
        (PROBLEM, visited(Visit(_DOOR, False, "https", True))),
        (PROBLEM, visited(Visit(_DOOR, True), trust=True, https=True)),
        (PROBLEM, visited(Visit(_DOOR, True, "https"), trust=True, https=True)),
        (PROBLEM, visited(Visit(_DOOR, True, "https", True), trust=True)),
        (PROBLEM, visited(Visit("10.0.0.7:8000", False))),
    ],
    "queue": [(PROBLEM, old_task)],
    "redis": [(PROBLEM, changed(REDIS_URL="redis://127.0.0.1:1/0"))],
    "redis_memory": [
        (PROBLEM, redis_tells(redis_version="5.0.14", maxmemory_policy="noeviction")),
        (PROBLEM, redis_tells(maxmemory=100, maxmemory_policy="allkeys-lru", used_memory=1)),
        (PROBLEM, redis_tells(maxmemory=100, maxmemory_policy="noeviction", used_memory=95)),
    ],
    "replica": [(PROBLEM, patched(read_replica, "problem", "it does not respond"))],
    "sign_in_groups": [(PROBLEM, changed(PEGBOARD_OIDC_GROUPS=(("staff", "Nowhere"),)))],
    "worker": [(PROBLEM, forgotten(processes.KEY))],
}  # fmt: skip
EACH = [
    pytest.param(name, state, break_, id=f"{name}-{number}")
    for name, failures in FAILURES.items()
    for number, (state, break_) in enumerate(failures, 1)
]


def doctor(*options: str) -> tuple[str, int]:
    """Return what the command prints, and its exit status."""
    printed = StringIO()
    try:
        call_command("doctor", *options, stdout=printed)
    except SystemExit as end:
        return printed.getvalue(), int(str(end.code))
    return printed.getvalue(), 0


def test_each_check_has_a_made_failure_and_a_section_of_the_docs() -> None:
    checks = {each.name: each for each in all_checks()}

    assert checks.keys() == FAILURES.keys()
    for each in checks.values():
        text = (PROJECT / "docs" / f"{each.page}.md").read_text("utf-8")
        headings = re.findall(r"^#+ (.+)$", text, re.M)
        slugs = {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}
        assert each.heading.lstrip("#") in {"", *slugs}, each.name


def test_healthy_installation_has_nothing_to_complain_of() -> None:
    printed, status = doctor()

    assert status == 0
    assert all(line.startswith("✓ ") for line in printed.splitlines()), printed


@pytest.mark.parametrize(("name", "state", "break_"), EACH)
def test_made_failure_is_told_with_the_way_out_wherever_checks_are_shown(
    name: str, state: str, break_: Break, world: World
) -> None:
    break_(world)

    printed, status = doctor("--json")
    result = {each["name"]: each for each in json.loads(printed)}[name]
    text = re.sub(r"\d+", "0", doctor()[0])  # ports of refusals, and what is left of a disk

    assert result["state"] == state
    for sentence in (result["problem"], result["remedy"]):
        assert sentence.endswith(".")
        assert "%" not in sentence.replace(" % ", " ")
        assert re.sub(r"\d+", "0", sentence) in text
    assert status == (1 if state == PROBLEM else 0)
    if {each.name: each for each in all_checks()}[name].for_readiness:
        answer = Client().get("/readyz").json()
        assert (name in answer["degraded"]) is (state == PROBLEM)
        problem = re.sub(r"\d+", "0", answer["parts"][name]["problem"])
        assert problem == re.sub(r"\d+", "0", result["problem"])


@pytest.mark.parametrize("number", range(3))
def test_page_shows_what_the_command_says_and_begins_with_problems(
    number: int, world: World, admin_client: Client
) -> None:
    several = ["backup", "beat", "cells", "memory", "mail", "queue", "redis_memory"][number::2]
    for name in several:
        FAILURES[name][0][1](world)

    page = admin_client.get("/health/").content.decode()
    results = {each.check.name: each.finding for each in run_checks()}

    order = re.findall(r'class="health-row" id="(\w+)"', page)
    assert set(order) == results.keys()
    states = [results[name].state for name in order]
    assert states == sorted(states, key=[PROBLEM, ADVICE, OK].index)
    for name in several:
        problem, remedy = results[name].problem, results[name].remedy
        shown = page.replace("<code>", "`").replace("</code>", "`")
        assert escape(problem) in shown
        assert escape(remedy) in shown


def test_check_that_fails_itself_is_a_finding_and_stops_no_other(world: World) -> None:
    world.patching.setattr(shutil, "disk_usage", raising(RuntimeError("odd <disk>")))

    results = {each.check.name: each.finding for each in run_checks()}

    assert results["disk"].problem == "This could not be checked: odd <disk>"
    assert results["database"].state == OK


def test_two_checks_have_two_names() -> None:
    with pytest.raises(ValueError, match="two checks named disk"):
        check("disk", "Disk", topic="operations")(CheckFinding)


def test_sign_in_tells_how_requests_arrive(world: World) -> None:
    person = User.objects.create_user("alice", password="correct horse battery")
    client = Client(headers={"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "https"})
    fields = {"login": person.username, "password": "correct horse battery"}

    client.post("/sign-in/", fields, headers={"Host": "localhost"})

    assert newest_visit() == Visit("localhost", False, "https", True)


@pytest.mark.parametrize(("hours", "state"), [(8, OK), (1, PROBLEM)])
def test_short_certificate_of_the_proxy_itself_ends_by_its_own_measure(
    hours: float, state: str, world: World
) -> None:
    certificate(days=hours / 24, lifetime=timedelta(hours=12), trusted=True)(world)

    finding = {each.check.name: each.finding for each in run_checks()}["certificate"]

    assert finding.state == state


def test_trusted_certificate_says_when_it_ends(world: World) -> None:
    certificate(trusted=True)(world)

    finding = {each.check.name: each.finding for each in run_checks()}["certificate"]

    assert (finding.problem, finding.note) == ("", "It ends in 90 days.")
