"""The event log: audit entries and ended calls are sent once their target takes them."""

import io
import json
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
from marketplace.models import EventLogState, SentCall
from marketplace.operate.event_log import sender
from marketplace.operate.event_log.sender import send_events
from tests.factories import CapabilityFactory, GroupFactory, UserFactory, waiting_call

pytestmark = pytest.mark.django_db
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
    sender.otlp_exporter.cache_clear()
    yield collector
    sender.otlp_exporter.cache_clear()
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
