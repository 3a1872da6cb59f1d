"""Heads of the audit log that were kept elsewhere, compared with the log now.

An anchor is a line with a JSON object: `{"at": …, "digest": …, "number": …}`. Words before it, such
as those of a system log, do not matter.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from acl.audit.log_verification import Fault
from acl.models import AuditArchive, AuditEntry
from acl.platform.strict_json import parse_json

_DIGEST = re.compile(r"[0-9a-f]{64}")


class NoAnchorError(ValueError):
    """Line without a valid anchor."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """The log had `number` entries, the last of which had `digest`."""

    number: int
    digest: str

    def values(self, at: str) -> dict[str, str | int]:
        """Return the anchor as JSON values."""
        return {"at": at, "digest": self.digest, "number": self.number}

    def line(self, at: str) -> str:
        """Return the anchor as a line of JSON."""
        return json.dumps(self.values(at))


def read_anchors(lines: Iterable[str]) -> Iterator[Anchor]:
    """Yield the anchors in order; NoAnchorError contains the line number."""
    for place, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            values = parse_json(line[line.rfind("{") :].strip())
            anchor = Anchor(int(values["number"]), str(values["digest"]))
        except (ValueError, KeyError, TypeError, IndexError) as problem:
            raise NoAnchorError(f"Line {place} is not an anchor.") from problem
        if anchor.number < 0 or not _DIGEST.fullmatch(anchor.digest):
            raise NoAnchorError(f"Line {place} is not an anchor.")
        yield anchor


def compare_with_anchors(anchors: Iterable[Anchor]) -> Fault | None:
    """Return the first fault between a log with a sound chain and its anchors, if any.

    A rewritten log is sound in itself. The first anchor that does not match, and the last before it
    that does, enclose the first altered entry. Those of archived entries are left out, but for the
    last of these.
    """
    archive = AuditArchive.objects.first()
    sound = 0
    for anchor in sorted(set(anchors), key=lambda anchor: (anchor.number, anchor.digest)):
        if anchor.number == 0 or (archive and anchor.number < archive.number):
            continue
        if archive and anchor.number == archive.number:
            if anchor.digest != archive.digest:
                return _altered(sound + 1, anchor.number)
            sound = anchor.number
            continue
        digest = (
            AuditEntry.objects.filter(number=anchor.number).values_list("digest", flat=True).first()
        )
        if digest is None:
            return _cut_off(anchor)
        if digest != anchor.digest:
            return _altered(sound + 1, anchor.number)
        sound = anchor.number
    return None


def _cut_off(anchor: Anchor) -> Fault:
    last = AuditEntry.objects.exclude(number=None).order_by("-number").first()
    number = (last.number or 0) + 1 if last else 1
    return Fault(
        number,
        None,
        "cut-off",
        f"Entry {number} was cut off, with all that followed: there were {anchor.number} entries "
        "when the head was noted.",
    )


def _altered(first: int, last: int) -> Fault:
    where = f"Entry {first}" if first == last else f"An entry from {first} to {last}"
    return Fault(
        first,
        None,
        "rewritten",
        f"{where} is not what it was when the head was noted: the log was written anew.",
    )
