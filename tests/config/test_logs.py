"""LOG-1: each line of the log is one JSON object; the event log is sent once it is taken."""

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from django.db import connection
from django.utils import timezone
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from pytest_django import Settings

from acl.audit.recorder import record
from acl.models import AuditEntry
from discovery.models import Call
from marketplace.config.logs import LONGEST_TEXT
from marketplace.models import EventLogState, SentCall
from marketplace.operate import event_log
from marketplace.operate.event_log import send_events
from tests.factories import CapabilityFactory, GroupFactory, UserFactory, waiting_call

pytestmark = pytest.mark.django_db

NAMES = ("a\r\nb", "\x1b[2J\x1b]0;owned\x07", "nul\x00", "\x9b31m\x85", "\u2028x\u2029", "\ud83dx")
# Each program sets up its log as in production, then logs each name in each way.
SAYS = """
import logging, sys, structlog
NAMES = {names}
def say(logger):
    for name in NAMES:
        logger.error("event %s", name)
        logger.error(name)
        try:
            raise ValueError(name)
        except ValueError:
            logger.exception("failed")
    print(len(NAMES) * 3)
"""
DJANGO = """
import django
django.setup()
say(logging.getLogger("django.request"))
"""
STRUCTLOG = """
import django
django.setup()
for name in NAMES:
    structlog.get_logger("catalog").warning(name, name=name)
print(len(NAMES))
"""
GUNICORN = """
from gunicorn.app.base import Application
class Web(Application):
    def init(self, *_): pass
    def load(self): pass
config = "--config=python:marketplace.operate.embedded.gunicorn_config"
sys.argv = ["gunicorn", config, "--access-logfile=-"]
log = Web().cfg.logger_class(Web().cfg)
say(log.error_log)
say(log.access_log)
"""
CELERY = """
from marketplace.config.celery import app
app.log.setup(loglevel="INFO", redirect_stdouts=False)
from celery.utils.log import get_task_logger
say(get_task_logger("x"))
say(logging.getLogger("celery.worker"))
"""
# The worker's part: a server whose output is logged.
SERVER = """
import asyncio
import django
django.setup()
from catalog.servers.client.server_problems import ServerProblemError
from catalog.servers.client.mcp_session import Session
from tests.connections.evil_server import server, QUICK
async def run():
    session = Session(server("babbles"), limits=QUICK)
    try:
        await session.open()
    finally:
        await session.close()
try:
    asyncio.run(run())
except ServerProblemError as problem:
    structlog.get_logger("catalog").exception(problem.detail, last_words=problem.detail)
print(1)
"""
LONG = """
import django
django.setup()
logging.getLogger("django.request").error("x" * 1_000_000)
structlog.get_logger("catalog").warning("short", detail="y" * 1_000_000)
print(2)
"""
NEXT = "-" * 70  # between what two parts of a program say


def said(style: str, *parts: str) -> list[tuple[list[str], int]]:
    """Run the parts as one program, which costs a second each time; return each part's lines of the
    log, and their expected number."""
    between = f"\nprint({NEXT!r}, file=sys.stderr); print({NEXT!r})\n"
    done = subprocess.run(  # noqa: S603 - ourselves
        [sys.executable, "-c", SAYS.replace("{names}", ascii(NAMES)) + between.join(parts)],
        env=os.environ | {"PEGBOARD_LOG_FORMAT": style, "PEGBOARD_LOG_LEVEL": "INFO"},
        capture_output=True,
        check=True,
    )
    logs = done.stderr.decode().removesuffix("\n").split(f"{NEXT}\n")
    counts = done.stdout.decode().split(NEXT)
    return [
        (log.removesuffix("\n").split("\n"), sum(map(int, count.split())))
        for log, count in zip(logs, counts, strict=True)
    ]


@pytest.mark.processes
def test_lines_of_django_structlog_and_servers_are_each_one_object() -> None:
    names, long, servers = said("json", DJANGO + STRUCTLOG, LONG, SERVER)

    assert_each_is_an_object(*names)
    assert_each_is_bounded(*long)
    assert_words_of_a_server_are_one_printable_field(*servers)


@pytest.mark.processes
@pytest.mark.parametrize("program", [GUNICORN, CELERY], ids=["gunicorn's logs", "celery's"])
def test_no_name_makes_a_second_line(program: str) -> None:
    [lines] = said("json", program)

    assert_each_is_an_object(*lines)


def assert_each_is_an_object(lines: list[str], expected: int) -> None:
    assert len(lines) == expected
    for line in lines:
        assert line.isascii()
        assert line.isprintable()
        assert isinstance(json.loads(line), dict)


def assert_each_is_bounded(lines: list[str], expected: int) -> None:
    assert len(lines) == expected
    assert max(map(len, lines)) < LONGEST_TEXT + 1_000
    assert "characters left out" in lines[0]


def assert_words_of_a_server_are_one_printable_field(lines: list[str], expected: int) -> None:
    assert len(lines) == expected
    assert lines[0].isascii()
    words = json.loads(lines[0])["last_words"]
    assert "the end" in words
    assert "exit code 1" in words
    assert len(words) <= 500
    assert all(part.isprintable() for part in words.split("\n"))


@pytest.mark.processes
def test_text_to_read_has_no_control_characters() -> None:
    (tracebacks, fewest), (names, expected) = said("text", DJANGO, STRUCTLOG)

    assert len(tracebacks) > fewest  # tracebacks have several lines
    assert len(names) == expected
    assert all(line.isprintable() for line in (*tracebacks, *names))


SECRET = "the code is 4711"


class Collector(HTTPServer):
    """A local collector of log records, which refuses some requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.refuse, self.bytes, self.names = 0, b"", list[str]()


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.refuse:
            self.server.refuse -= 1
            self.send_response(400)
            self.end_headers()
            return
        self.server.bytes += content
        for group in ExportLogsServiceRequest.FromString(content).resource_logs:
            for scope in group.scope_logs:
                self.server.names += [one.event_name for one in scope.log_records]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    collector = Collector()
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{collector.server_port}"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
    event_log.otlp_exporter.cache_clear()
    yield collector
    event_log.otlp_exporter.cache_clear()
    collector.shutdown()
    collector.server_close()


def write_entry(target: str) -> None:
    """Write an entry and give it its number, as a commit would."""
    record(by=None, action="test.change", target=target)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")


def end_call(minutes_ago: float = 0) -> Call:
    alice, group = UserFactory.create(), GroupFactory.create()
    call = waiting_call(alice, group, CapabilityFactory.create(), SECRET)
    ended = timezone.now() - timedelta(minutes=minutes_ago)
    Call.objects.filter(pk=call.pk).update(state="rejected", ended_at=ended, result_json='"4711"')
    return call


def test_events_are_lines_of_json_without_arguments_and_late_ones_follow(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PEGBOARD_EVENT_LOG = "stdout"
    monkeypatch.setattr(sys, "__stdout__", out := io.StringIO())
    write_entry("first\n{}")
    first = end_call()
    waiting_call(first.user, first.group, CapabilityFactory.create(), SECRET)
    send_events()
    late = end_call(minutes_ago=20)  # its transaction was slow
    write_entry("second")
    send_events()
    send_events()

    events = [json.loads(line) for line in out.getvalue().splitlines()]
    told = [one.get("target") or one["id"] for one in events]
    assert [one for one in told if one in {"first\n{}", "second", str(first.pk), str(late.pk)}] == [
        "first\n{}",
        str(first.pk),
        "second",
        str(late.pk),
    ]
    assert len(told) == len(set(map(str, told)))
    call = next(one for one in events if one["event"] == "call")
    assert (call["state"], call["tool"]) == ("rejected", first.full_name)
    assert "4711" not in out.getvalue()
    assert SentCall.objects.count() == 2


def test_a_collector_that_refuses_gets_the_same_events_again(
    settings: Settings, collector: Collector
) -> None:
    settings.PEGBOARD_EVENT_LOG = "otlp"
    write_entry("first")
    end_call()
    collector.refuse = 1

    refused, failure = send_events(), EventLogState.objects.get().failure
    sent = send_events()

    assert (refused, failure) == (0, "The collector did not take the events.")
    assert sent == len(collector.names) == AuditEntry.objects.count() + 1
    assert set(collector.names) == {"pegboard.audit", "pegboard.call"}
    assert b"4711" not in collector.bytes
    assert EventLogState.objects.get().failure == ""


def test_without_the_setting_nothing_is_read(settings: Settings) -> None:
    settings.PEGBOARD_EVENT_LOG = "off"
    end_call()

    assert send_events() == 0
    assert not EventLogState.objects.exists()
