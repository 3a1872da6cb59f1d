"""Anchors: heads of the audit log noted outside of the database, and verified against it."""

import json
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from acl.audit.log_verification import Anchor, NoAnchorError, read_anchors
from acl.audit.recorder import record
from acl.models import AuditHead
from marketplace.models import AuditAnchor
from marketplace.operate.audit_anchor import sender
from marketplace.operate.audit_anchor.sender import record_head
from tests.databases import as_superuser
from tests.local_servers import Handler, serve

pytestmark = pytest.mark.django_db


@pytest.fixture
def file(settings: Settings, tmp_path: Path) -> Path:
    settings.PEGBOARD_AUDIT_ANCHOR = str(tmp_path / "anchors")
    return tmp_path / "anchors"


def write(*targets: str) -> None:
    for target in targets:
        record(by=None, action="test.change", target=target)
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")


def numbers(file: Path) -> list[int]:
    return [json.loads(line)["number"] for line in file.read_text().splitlines()]


def audit_part() -> dict[str, object]:
    answer: dict[str, object] = Client().get("/readyz").json()["parts"]["audit"]
    return answer


def test_head_is_noted_when_it_has_moved_and_once_a_day(file: Path) -> None:
    write("one", "two")
    record_head()
    record_head()
    write("three")
    record_head()
    AuditAnchor.objects.update(noted_at=timezone.now() - timedelta(days=2))
    record_head()

    assert numbers(file) == [2, 3, 3]
    assert json.loads(file.read_text().splitlines()[-1])["digest"] == AuditHead.objects.get().digest
    assert file.stat().st_mode & 0o777 == 0o600


def test_what_could_not_be_noted_is_told_and_noted_later(file: Path) -> None:
    write("one")
    file.mkdir()
    record_head()
    failed = audit_part()
    file.rmdir()
    record_head()

    assert failed["ok"] is False
    assert "the file cannot be written" in str(failed["problem"])
    assert audit_part() == {"ok": True, "problem": ""}
    assert numbers(file) == [1]


def test_entries_that_nobody_noted_for_long_are_told(file: Path) -> None:
    write("one", "two")
    record_head()
    write("three")
    before = audit_part()
    as_superuser(
        "SET LOCAL session_replication_role = replica",
        "UPDATE acl_auditentry SET at = at - interval '1 day' WHERE number = 3",
        "SET LOCAL session_replication_role = origin",
    )

    after = audit_part()

    assert before["ok"] is True
    assert after["problem"] == "Audit entries since number 3 have no anchor yet."
    assert "pegboard_audit_entries_not_noted 1.0" in Client().get("/metrics").content.decode()


def test_no_link_is_followed(file: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("")
    file.symlink_to(tmp_path / "elsewhere")
    write("one")

    record_head()

    assert (tmp_path / "elsewhere").read_text() == ""
    assert AuditAnchor.objects.get().failure


def test_the_systems_log_takes_it(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.PEGBOARD_AUDIT_ANCHOR = "syslog"
    write("one")
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setattr(sender, "_DEVICE", f"{folder}/log")
        record_head()
        without = AuditAnchor.objects.get().failure
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
            log.bind(f"{folder}/log")
            log.settimeout(60)
            record_head()
            line = log.recv(10_000).decode()

    assert "syslog did not accept it" in without
    assert line.startswith("<109>pegboard-audit: {")
    assert [anchor.number for anchor in read_anchors([line])] == [1]


@pytest.fixture
def witness() -> Iterator[Callable[[int], tuple[str, list[bytes]]]]:
    """A local server with a fixed status and a record of requests."""
    servers = ExitStack()

    def witness_with(status: int) -> tuple[str, list[bytes]]:
        sent: list[bytes] = []

        class Anchors(Handler):
            def do_POST(self) -> None:
                sent.append(self.sent())
                self.reply(status)

            def log_message(self, *args: object) -> None:
                pass

        server = servers.enter_context(serve(Anchors))
        return f"http://127.0.0.1:{server.server_port}/anchors?token=hush", sent

    with servers:
        yield witness_with


def test_address_is_sent_the_head(
    settings: Settings, witness: Callable[[int], tuple[str, list[bytes]]]
) -> None:
    url, sent = witness(204)
    settings.PEGBOARD_AUDIT_ANCHOR = url
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = [("127.0.0.1", None)]
    write("one")

    record_head()

    (body,) = sent
    assert json.loads(body)["digest"] == AuditHead.objects.get().digest
    assert AuditAnchor.objects.get().failure == ""


@pytest.mark.parametrize(("status", "allowed"), [(500, True), (302, True), (204, False)])
def test_address_that_takes_nothing_is_told_without_the_address(
    settings: Settings,
    witness: Callable[[int], tuple[str, list[bytes]]],
    status: int,
    allowed: bool,
) -> None:
    url, sent = witness(status)
    settings.PEGBOARD_AUDIT_ANCHOR = url
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = [("127.0.0.1", None)] if allowed else []
    write("one")

    record_head()

    failure = AuditAnchor.objects.get().failure
    assert failure
    assert "127.0.0.1" not in failure
    assert "hush" not in failure
    assert len(sent) == (1 if allowed else 0)


def rewrite(statement: str) -> None:
    """Change and re-chain the log, as the owner of the database can."""
    as_superuser(
        "SET LOCAL session_replication_role = replica",
        statement,
        "UPDATE acl_auditentry SET number = NULL, previous = NULL, digest = NULL",
        "DELETE FROM acl_audithead",
        "SELECT acl_audit_append()",
        "SET LOCAL session_replication_role = origin",
    )


def verify(*arguments: str) -> str:
    told = StringIO()
    call_command("verify_audit", *arguments, verbosity=0, stdout=told)
    return told.getvalue()


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (
            "UPDATE acl_auditentry SET target = 'other' WHERE number = 4",
            r"An entry from 3 to 5 is not what it was",
        ),
        (
            "UPDATE acl_auditentry SET target = 'other' WHERE number = 1",
            r"An entry from 1 to 2 is not what it was",
        ),
        ("DELETE FROM acl_auditentry WHERE number > 3", r"Entry 4 was cut off"),
        ("DELETE FROM acl_auditentry", r"Entry 1 was cut off"),
    ],
)
def test_log_that_was_written_anew_is_found_by_what_was_noted(
    file: Path, statement: str, told: str
) -> None:
    write("one", "two")
    record_head()
    write("three", "four", "five")
    record_head()
    write("six")
    fits = verify("--anchor", str(file))

    rewrite(statement)

    verify()  # it is consistent in itself
    with pytest.raises(CommandError, match=told):
        verify("--anchor", str(file))
    assert "2 anchors fit" in fits


def test_lines_of_other_logs_may_stand_before_an_anchor() -> None:
    anchor = Anchor(7, "ab" * 32)

    lines = [f"Mar  1 12:00:00 host pegboard-audit: {anchor.line('2026-03-01T12:00:00Z')}", ""]

    assert list(read_anchors(lines)) == [anchor]


@pytest.mark.parametrize("line", ["7 abc", "{}", '{"number": 7, "digest": "x"}', '{"number": "'])
def test_what_is_no_anchor_is_refused(line: str) -> None:
    with pytest.raises(NoAnchorError, match="Line 1 is not an anchor"):
        list(read_anchors([line]))
