"""Targets of the event log: standard output, and a collector of OpenTelemetry.

Talks to the collector at OTEL_EXPORTER_OTLP_ENDPOINT, which the operator chose.
"""

import sys
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any

from acl.platform.strict_json import write_json

Event = dict[str, Any]


class EventsNotTakenError(Exception):
    """The target did not take the events."""


def write_to_stdout(events: Sequence[Event]) -> None:
    """Write a JSON object a line: ASCII only, so that no value can forge another line."""
    # Celery replaces sys.stdout by a logger.
    if sys.__stdout__ is None:
        raise EventsNotTakenError("The process has no standard output.")
    try:
        sys.__stdout__.write("".join(write_json(event) + "\n" for event in events))
        sys.__stdout__.flush()
    except OSError as problem:
        raise EventsNotTakenError(f"Standard output failed ({problem.strerror}).") from problem


def send_by_otlp(events: Sequence[Event]) -> None:
    """Send the events as log records, and wait until the collector has them."""
    try:
        from opentelemetry.sdk._logs.export import LogRecordExportResult

        exporter = otlp_exporter()
        records = [_record_of(event) for event in events]
    except ImportError as problem:
        raise EventsNotTakenError(f"Install pegboard[otel] ({problem}).") from problem
    if exporter.export(records) is not LogRecordExportResult.SUCCESS:
        raise EventsNotTakenError("The collector did not take the events.")


@cache
def otlp_exporter() -> Any:
    """Return the exporter of this process, which keeps its connection."""
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter

    return OTLPLogExporter()


def _record_of(event: Event) -> Any:
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.sdk._logs import ReadableLogRecord
    from opentelemetry.sdk.resources import Resource

    at = int(
        datetime.fromisoformat(
            event["ended_at"] if event["event"] == "call" else event["at"]
        ).timestamp()
        * 1_000_000_000
    )
    record = LogRecord(
        timestamp=at,
        observed_timestamp=at,
        severity_text="INFO",
        severity_number=SeverityNumber.INFO,
        body=event,
        event_name=f"pegboard.{event['event']}",
    )
    return ReadableLogRecord(record, Resource.create({"service.name": "pegboard"}))
