"""The audit log for other programs: CSV for spreadsheets, JSON lines for everything else."""

from collections.abc import Iterable, Iterator
from typing import Any

from acl.models import AuditEntry
from acl.platform.csv_lines import csv_lines as lines_of
from acl.platform.strict_json import write_json

COLUMNS = (
    "number", "at", "by", "by_id", "actor_kind", "credential", "key_id", "key_prefix", "key_name",
    "subject", "subject_id", "action", "target", "details", "request_id", "address", "version",
    "previous", "digest",
)  # fmt: skip


def csv_lines(entries: Iterable[AuditEntry]) -> Iterator[str]:
    """Yield a header line, then a CSV line for each entry."""
    return lines_of(COLUMNS, map(_row, entries))


def json_lines(entries: Iterable[AuditEntry]) -> Iterator[str]:
    """Yield a JSON object per line."""
    for entry in entries:
        yield write_json(_fields(entry), ensure_ascii=False, compact=False) + "\n"


def _row(entry: AuditEntry) -> list[Any]:
    fields = _fields(entry)
    fields["details"] = write_json(fields["details"], ensure_ascii=False, compact=False)
    return [fields[name] for name in COLUMNS]


def _fields(entry: AuditEntry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "at": entry.at.isoformat(),
        "by": entry.by_name,
        "by_id": entry.by_id,
        "actor_kind": entry.actor_kind,
        "credential": entry.credential,
        "key_id": entry.key_id,
        "key_prefix": entry.key_prefix,
        "key_name": entry.key_name,
        "subject": entry.subject_name,
        "subject_id": entry.subject_id,
        "action": entry.action,
        "target": entry.target,
        "details": entry.details,
        "request_id": entry.request_id,
        "address": entry.address,
        "version": entry.version,
        "previous": entry.previous,
        "digest": entry.digest,
    }
