"""OpenTelemetry traces, configured by the OTEL_* variables.

Spans go only to the collector at OTEL_EXPORTER_OTLP_ENDPOINT. Without that variable the SDK is not
even imported. Only the span attributes named here leave the machine: no message texts, arguments,
query strings or error texts. SQL is exported with placeholders, without its values.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import structlog

log = structlog.get_logger(__name__)
_PLACEHOLDER = re.compile(r"%[sbt(]|\$\d")
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_ALLOWED_ATTRIBUTES = frozenset({
    "http.method", "http.request.method", "http.route", "http.status_code",
    "http.response.status_code", "db.system", "db.system.name", "db.query.text",
    "celery.action", "celery.state", "celery.task_name", "messaging.destination",
    "messaging.destination.name", "messaging.message.id", "messaging.message_id", "error.type",
})  # fmt: skip


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Return True if the variables name a collector and do not disable traces."""
    off = environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if off or environ.get("OTEL_TRACES_EXPORTER", "otlp") == "none":
        return False
    return any(environ.get(name) for name in _ENDPOINTS)


def start() -> None:
    """Trace requests, tasks, SQL statements and Redis commands. Call once per process."""
    os.environ.setdefault("OTEL_SERVICE_NAME", "pegboard")
    try:
        _start()
    except ImportError as problem:
        log.warning("tracing disabled: install pegboard[otel]", reason=str(problem))


def _start() -> None:
    # Imported only if traces are wanted: that takes 0.1 s and some megabytes.
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.instrumentation.celery import CeleryInstrumentor
    from opentelemetry.instrumentation.django import DjangoInstrumentor
    from opentelemetry.instrumentation.redis import RedisInstrumentor
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult

    class RedactingExporter(OTLPSpanExporter):
        """Exports spans with the allowed attributes only."""

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            return super().export([_redact(span) for span in spans])

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(RedactingExporter()))
    trace.set_tracer_provider(provider)
    DjangoInstrumentor().instrument()
    RedisInstrumentor().instrument()
    CeleryInstrumentor().instrument()  # type: ignore[no-untyped-call]
    _trace_statements(trace.get_tracer(__name__))


def _redact(span: Any) -> Any:
    # Rebuilt, because a finished span is read-only; events and error texts are left out as well.
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Status

    attributes = {
        name: value
        for name, value in (span.attributes or {}).items()
        if name in _ALLOWED_ATTRIBUTES
    }
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=attributes,
        kind=span.kind,
        instrumentation_scope=span.instrumentation_scope,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
    )


def _trace_statements(tracer: Any) -> None:
    """Create a span for every statement."""
    # Patched in psycopg, not Django, because the selection opens its own cursors.
    from psycopg import Cursor

    execute: Callable[..., Any] = Cursor.execute

    def traced(cursor: Any, query: Any, *values: Any, **options: Any) -> Any:
        text = query if isinstance(query, str) else ""
        with tracer.start_as_current_span(
            (text.split(maxsplit=1) or ["statement"])[0].upper()[:20], record_exception=False
        ) as span:
            span.set_attribute("db.system.name", "postgresql")
            if _PLACEHOLDER.search(text):  # without placeholders, the text may contain values
                span.set_attribute("db.query.text", " ".join(text.split())[:2000])
            return execute(cursor, query, *values, **options)

    Cursor.execute = traced  # type: ignore[method-assign, assignment]
