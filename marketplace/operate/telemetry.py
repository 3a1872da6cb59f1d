"""Traces by OpenTelemetry, where the deployment's OTEL_* variables say where they go.

It talks to the collector at OTEL_EXPORTER_OTLP_ENDPOINT and to nothing else; without that variable
no part of it that could tell anything is imported. Of a span only the attributes named here leave:
no words of messages, no arguments, no query strings, no text of errors. Statements are written with
placeholders, and their values are not told.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import structlog

log = structlog.get_logger(__name__)
_PLACEHOLDER = re.compile(r"%[sbt(]|\$\d")
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_TOLD = frozenset({
    "http.method", "http.request.method", "http.route", "http.status_code",
    "http.response.status_code", "db.system", "db.system.name", "db.query.text",
    "celery.action", "celery.state", "celery.task_name", "messaging.destination",
    "messaging.destination.name", "messaging.message.id", "messaging.message_id", "error.type",
})  # fmt: skip


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Whether the variables name a collector, and none of them switches traces off."""
    off = environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if off or environ.get("OTEL_TRACES_EXPORTER", "otlp") == "none":
        return False
    return any(environ.get(name) for name in _ENDPOINTS)


def start() -> None:
    """Begin to tell of requests, tasks, statements and Redis commands; once in a process."""
    os.environ.setdefault("OTEL_SERVICE_NAME", "pegboard")
    try:
        _start()
    except ImportError as problem:
        log.warning("no traces: install pegboard[otel]", reason=str(problem))


def _start() -> None:
    # Imported only where traces are wanted: it takes a tenth of a second and some megabytes.
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.instrumentation.celery import CeleryInstrumentor
    from opentelemetry.instrumentation.django import DjangoInstrumentor
    from opentelemetry.instrumentation.redis import RedisInstrumentor
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult

    class DiscreetExporter(OTLPSpanExporter):
        """Sends spans without what nobody outside is to read."""

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            return super().export([_discreet(span) for span in spans])

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(DiscreetExporter()))
    trace.set_tracer_provider(provider)
    DjangoInstrumentor().instrument()
    RedisInstrumentor().instrument()
    CeleryInstrumentor().instrument()  # type: ignore[no-untyped-call]
    _tell_of_statements(trace.get_tracer(__name__))


def _discreet(span: Any) -> Any:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Status

    told = {name: value for name, value in (span.attributes or {}).items() if name in _TOLD}
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=told,
        kind=span.kind,
        instrumentation_scope=span.instrumentation_scope,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
    )


def _tell_of_statements(tracer: Any) -> None:
    """A span for each statement, also of cursors that Django does not make: the selection's."""
    from psycopg import Cursor

    execute: Callable[..., Any] = Cursor.execute

    def traced(cursor: Any, query: Any, *values: Any, **options: Any) -> Any:
        text = query if isinstance(query, str) else ""
        with tracer.start_as_current_span(_first_word(text), record_exception=False) as span:
            span.set_attribute("db.system.name", "postgresql")
            if _PLACEHOLDER.search(text):  # without one, values may be in the text
                span.set_attribute("db.query.text", " ".join(text.split())[:2000])
            return execute(cursor, query, *values, **options)

    Cursor.execute = traced  # type: ignore[method-assign, assignment]


def _first_word(statement: str) -> str:
    return (statement.split(maxsplit=1) or ["statement"])[0].upper()[:20]
