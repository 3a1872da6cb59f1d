"""Traces of a selection and its statements if a collector is configured; otherwise none."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from marketplace.operate.telemetry import is_wanted
from tests.catalog.processes import database_url
from tests.factories import CapabilityFactory, GroupFactory, UserFactory, give

PROJECT = Path(__file__).parents[2]
ASK = """
import os, sys
import django; django.setup()
from django.test import Client
from acl.keys.lifecycle import create_key
from django.contrib.auth.models import Group
_, raw = create_key(by=None, name="t", group=Group.objects.get(name="traced"), scopes=["select"],
                    acts_for_users=True)
body = {"user": "alice", "message": "a very private walrus"}
answer = Client(headers={"Authorization": f"Bearer {raw}"}).post(
    "/api/v1/select?secret=narwhal", body, "application/json")
assert answer.status_code == 200, answer.content
from opentelemetry import trace
getattr(trace.get_tracer_provider(), "force_flush", bool)()
print(*sorted(name for name in sys.modules if name.startswith(("opentelemetry.", "scim2_"))))
"""


class Collector(HTTPServer):
    """A local collector of traces."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.spans: list[Span] = []
        self.bytes = b""


class _Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bytes += content
        for group in ExportTraceServiceRequest.FromString(content).resource_spans:
            self.server.spans += [span for scope in group.scope_spans for span in scope.spans]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    thread = threading.Thread(target=collector.serve_forever)
    thread.start()
    yield collector
    collector.shutdown()
    thread.join()
    collector.server_close()


@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_selection_is_a_trace_of_its_statements_and_tells_no_words(collector: Collector) -> None:
    group = GroupFactory.create(name="traced")
    UserFactory.create(username="alice", groups=[group])
    give(CapabilityFactory.create(action="find_walrus").integration, group)

    quiet = _ask()
    traced = _ask(
        OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{collector.server_port}",
        OTEL_EXPORTER_OTLP_COMPRESSION="none",
    )

    ours = ("opentelemetry.instrumentation", "opentelemetry.exporter", "opentelemetry.sdk.trace")
    assert not any(name.startswith(ours) for name in quiet.split())
    assert "scim2_" not in quiet  # loading it takes 0.7 s
    assert all(any(name.startswith(each) for name in traced.split()) for each in ours)
    request = next(span for span in collector.spans if span.kind == Span.SPAN_KIND_SERVER)
    trace = [span for span in collector.spans if span.trace_id == request.trace_id]
    texts = [each.value.string_value for span in trace for each in span.attributes]
    assert "api-select" in request.name or "api/v1/select" in request.name
    assert any("WITH RECURSIVE" in text for text in texts)  # the selection's own
    assert not any(word in collector.bytes for word in (b"walrus", b"narwhal", b"alice"))


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, False),
        ({"OTEL_SERVICE_NAME": "pegboard"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "true"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "none"}, False),
    ],
)
def test_traces_are_wanted_where_a_collector_is_named(
    environ: dict[str, str], wanted: bool
) -> None:
    assert is_wanted(environ) is wanted


def _ask(**environment: str) -> str:
    """Select in a separate process; return its modules of OpenTelemetry and SCIM."""
    answer = subprocess.run(  # noqa: S603
        [sys.executable, "-c", ASK],
        cwd=PROJECT,
        env=os.environ
        | {"DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": "marketplace.config.settings"}
        | {"PEGBOARD_ALLOWED_HOSTS": "testserver"}
        | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout
