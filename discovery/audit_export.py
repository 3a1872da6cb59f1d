"""The audit log for other programs: CSV for spreadsheets, JSON lines for everything else."""

import csv
import json
from collections.abc import Iterable, Iterator
from typing import Any

from acl.models import AuditEntry

COLUMNS = (
    "number", "at", "by", "by_id", "action", "target", "details", "request_id", "key_prefix",
    "address", "previous", "digest",
)  # fmt: skip
# A cell that begins with one of these is a formula to a spreadsheet, also behind blanks.
FORMULA = ("=", "+", "-", "@", "|", "%")
BLANKS = ("\t", "\r", "\n")


def csv_lines(entries: Iterable[AuditEntry]) -> Iterator[str]:
    """A line of names, then one for each entry."""
    writer = csv.writer(_Line())
    yield writer.writerow(COLUMNS)
    for entry in entries:
        fields = _fields(entry)
        fields["details"] = json.dumps(fields["details"], ensure_ascii=False)
        yield writer.writerow([_harmless(fields[name]) for name in COLUMNS])


def json_lines(entries: Iterable[AuditEntry]) -> Iterator[str]:
    """One object a line."""
    for entry in entries:
        yield json.dumps(_fields(entry), ensure_ascii=False) + "\n"


class _Line:
    """What csv writes into: it gives the line back."""

    def write(self, line: str) -> str:
        return line


def _fields(entry: AuditEntry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "at": entry.at.isoformat(),
        "by": entry.by_name,
        "by_id": entry.by_id,
        "action": entry.action,
        "target": entry.target,
        "details": entry.details,
        "request_id": entry.request_id,
        "key_prefix": entry.key_prefix,
        "address": entry.address,
        "previous": entry.previous,
        "digest": entry.digest,
    }


def _harmless(value: Any) -> Any:
    """The text, with an apostrophe before what would be a formula."""
    if not isinstance(value, str):
        return "" if value is None else value
    formula = value.lstrip().startswith(FORMULA) or value.startswith(BLANKS)
    return f"'{value}" if formula else value
