"""Archives: the beginning of the audit log as a file, whose chain goes on in the database.

Each line of the file is a JSON object with number, previous digest, digest, and the text that the
digest covers (`docs/audit.md`), so that the file proves itself.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import file_digest
from pathlib import Path

from django.db import connection, transaction
from django.db.models import Max, Min

from acl.audit.log_verification import (
    NOTHING_BEFORE,
    ChainLink,
    Checked,
    check_chain,
    read_links,
)
from acl.audit.recorder import record
from acl.models import AuditArchive, AuditEntry
from acl.platform.strict_json import parse_json

_AT_ONCE = 1_000


class ArchiveRefused(Exception):
    """The entries cannot be archived; the reason is in words."""


@dataclass(frozen=True, slots=True)
class ArchivedEntries:
    """A sound file: its entries from `first` to `number`, and the digests at both ends."""

    first: int
    number: int
    previous: str
    digest: str
    checksum: str


def last_to_archive(before: datetime) -> int:
    """Return the number of the last entry before which all entries are older; 0 for none."""
    numbers = AuditEntry.objects.exclude(number=None)
    younger = numbers.filter(at__gte=before).aggregate(least=Min("number"))["least"]
    last = younger - 1 if younger else numbers.aggregate(most=Max("number"))["most"] or 0
    return last if numbers.filter(number__lte=last).exists() else 0


def write_archive(file: Path, *, number: int) -> ArchivedEntries:
    """Write the entries up to `number` to a new file, and read it back."""
    draft = file.with_name(f"{file.name}.part")
    with transaction.atomic(), draft.open("x", encoding="utf-8") as lines:
        draft.chmod(0o600)
        for link in read_links(most=None):
            if link.number is None or link.number > number:
                break
            line = {"number": link.number, "previous": link.previous, "digest": link.digest}
            lines.write(json.dumps({**line, "content": link.content}) + "\n")
        lines.flush()
        os.fsync(lines.fileno())
    archive = read_archive(draft)
    if archive.number != number:
        raise ArchiveRefused(f"The file ends with entry {archive.number} instead of {number}.")
    draft.rename(file)
    return archive


def read_archive(file: Path) -> ArchivedEntries:
    """Check the chain of a file; raise ArchiveRefused with its first fault."""
    first = next(_lines(file), None)
    if first is None or first.number is None:
        raise ArchiveRefused(f"There is no entry in {file.name}.")
    previous = NOTHING_BEFORE if first.number == 1 else str(first.previous)
    start = Checked(first.number, first.number - 1, previous)
    checked = check_chain(_lines(file), start)
    if checked.fault:
        raise ArchiveRefused(f"{file.name}: {checked.fault.sentence}")
    with file.open("rb") as content:
        checksum = file_digest(content, "sha256").hexdigest()
    return ArchivedEntries(checked.first, checked.number, previous, checked.digest, checksum)


def cut_log(archive: ArchivedEntries, *, file: Path) -> int:
    """Delete the archived entries from the database, some at a time; return how many.

    Only the owner of the log may, and only entries up to the end of a known archive: the database
    compares its digest. One that was broken off goes on.
    """
    with transaction.atomic():
        AuditArchive.objects.get_or_create(
            number=archive.number,
            defaults={
                "digest": archive.digest,
                "file": file.name[:200],
                "checksum": archive.checksum,
            },
        )
        details = {"last": archive.number, "digest": archive.digest, "checksum": archive.checksum}
        record(by=None, action="audit.archived", target=file.name, details=details)
    removed = 0
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_CUT, {"last": archive.number, "most": _AT_ONCE})
            if not cursor.rowcount:
                return removed
            removed += cursor.rowcount


_CUT = """
DELETE FROM acl_auditentry WHERE id IN (
  SELECT id FROM acl_auditentry WHERE number <= %(last)s ORDER BY number LIMIT %(most)s)
"""


def _lines(file: Path) -> Iterator[ChainLink]:
    with file.open(encoding="utf-8") as lines:
        for place, line in enumerate(lines, 1):
            try:
                values = parse_json(line)
                yield ChainLink.of_archive(
                    int(values["number"]), *(str(values[name]) for name in _TEXTS)
                )
            except (ValueError, KeyError, TypeError) as problem:
                raise ArchiveRefused(f"Line {place} of {file.name} is no entry.") from problem


_TEXTS = ("previous", "digest", "content")
