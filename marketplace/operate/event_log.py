"""Sending audit entries and ended calls, in the outgoing worker, to PEGBOARD_EVENT_LOG.

Rows are the source, so no request waits and nothing is lost while a target is down. A portion is
noted as sent once its target has taken it; after a crash in between it is sent again. No event has
arguments or results of calls.
"""

import sys
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Max, OuterRef
from django.utils import timezone

from acl.audit.log import event_of_entry
from acl.models import AuditEntry
from acl.platform.strict_json import write_json
from discovery.calls.log import event_of_call, with_names
from discovery.models import Call
from marketplace.models import EventLogState, SentCall

# Targets of the event log: standard output, and a collector of OpenTelemetry.
# Talks to the collector at OTEL_EXPORTER_OTLP_ENDPOINT, which the operator chose.

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


TARGETS: dict[str, Callable[[Sequence[Event]], None]] = {
    "stdout": write_to_stdout,
    "otlp": send_by_otlp,
}
AT_ONCE = 500
MOST_PORTIONS = 100
# Longer than any transaction that ends a call.
OVERLAP = timedelta(hours=1)
log = structlog.get_logger(__name__)


def send_events() -> int:
    """Send what is new, in portions; return the number of events."""
    send = TARGETS.get(settings.PEGBOARD_EVENT_LOG)
    if send is None:
        return 0
    EventLogState.objects.get_or_create(pk=1, defaults=_BEGINNING)
    sent = 0
    for _ in range(MOST_PORTIONS):
        count = _send_portion(send)
        sent += count
        if not count:
            break
    return sent


def _last_before() -> int:
    """Return the last entry before an hour ago: nothing is missing since the restart."""
    since = timezone.now() - OVERLAP
    earlier = AuditEntry.objects.filter(at__lt=since).aggregate(last=Max("number"))
    return earlier["last"] or 0


# Called where the row is made, and not at every run.
_BEGINNING: dict[str, Callable[[], object]] = {
    "audit_number": _last_before,
    "calls_until": timezone.now,
}


@transaction.atomic
def _send_portion(send: Callable[[Sequence[Event]], None]) -> int:
    state = EventLogState.objects.select_for_update(skip_locked=True).filter(pk=1).first()
    if state is None:  # another worker sends
        return 0
    sent = SentCall.objects.filter(call_id=OuterRef("pk"))
    rows = Call.objects.filter(~Exists(sent), ended_at__gt=state.calls_until - OVERLAP)
    # The next entries. Numbers are given at commit, so none comes late.
    entries, calls = (
        list(AuditEntry.objects.filter(number__gt=state.audit_number).order_by("number")[:AT_ONCE]),
        list(with_names(rows).order_by("ended_at", "pk")[:AT_ONCE]),
    )
    if not entries and not calls:
        return 0
    events = [event_of_entry(item) for item in entries] + [event_of_call(item) for item in calls]
    try:
        send(events)
    except EventsNotTakenError as problem:
        log.warning("events not sent", reason=str(problem), target=settings.PEGBOARD_EVENT_LOG)
        EventLogState.objects.filter(pk=1).update(failure=str(problem)[:200])
        return 0
    ended = {call.pk: call.ended_at for call in calls if call.ended_at is not None}
    state.audit_number = max([state.audit_number, *(entry.number or 0 for entry in entries)])
    state.calls_until = max([state.calls_until, *ended.values()])
    state.sent_at, state.failure = timezone.now(), ""
    state.save()
    SentCall.objects.bulk_create([SentCall(call_id=pk, ended_at=at) for pk, at in ended.items()])
    SentCall.objects.filter(ended_at__lte=state.calls_until - OVERLAP).delete()
    return len(events)
