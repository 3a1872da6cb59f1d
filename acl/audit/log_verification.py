"""Checking the chain of the audit log: the content of each entry against its digest and place.

The digests are computed here and not by the database's own function: whoever could change entries
could have changed that function as well.
"""

import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from django.db import connection, transaction
from django.utils.translation import gettext as _

from acl.models import AuditArchive, AuditEntry
from acl.platform.strict_json import parse_json

Progress = Callable[[int, int], None]
NOTHING_BEFORE = "0" * 64
AT_ONCE = 2000


class ChainLink(NamedTuple):
    """An entry with the columns to verify, beside the head."""

    head_number: int | None
    head_digest: str | None
    archived: int | None  # number of the last entry that an archive has, and its digest
    archived_digest: str | None
    pk: int | None
    number: int | None
    previous: str | None
    digest: str | None
    content: str

    @classmethod
    def of_archive(cls, number: int, previous: str, digest: str, content: str) -> "ChainLink":
        """Return an entry of an archive file, which has no head and no id of its own."""
        return cls(None, None, None, None, number, number, previous, digest, content)


@dataclass(frozen=True, slots=True)
class Fault:
    """First fault of the log: its position, its kind, and a sentence."""

    number: int
    entry: int | None
    kind: str  # changed, missing, reordered, unchained, unknown-head
    sentence: str


@dataclass(frozen=True, slots=True)
class Checked:
    """Verified range of the log, from entry `first` to `number` with its `digest`."""

    first: int
    number: int
    digest: str
    fault: Fault | None = None

    @property
    def entries(self) -> int:
        """Number of verified entries."""
        return max(0, self.number - self.first + 1)


def check_log(
    *, expect: str = "", most: int | None = None, progress: Progress | None = None
) -> Checked:
    """Read the log, or its last `most` entries, up to the first fault.

    `expect` is a digest that was noted elsewhere: without an entry that has it, the log was cut off
    or written anew since. Memory does not grow with the log.
    """
    with transaction.atomic(), closing(read_links(most)) as links:
        return _check(links, expect=expect, most=most, progress=progress)


def _check(
    links: Iterator[ChainLink], *, expect: str, most: int | None, progress: Progress | None
) -> Checked:
    first, number, digest = 1, 0, NOTHING_BEFORE
    head: tuple[int | None, str | None] = (None, None)
    has_expected = False
    for link in links:
        head = link.head_number, link.head_digest
        if number == 0 and link.archived:
            first, number, digest = link.archived + 1, link.archived, link.archived_digest or ""
            has_expected = digest == expect
        if link.pk is None:
            break
        if number == first - 1 and most and head[0] and head[0] - most > number:
            # What comes before the last `most` is not read, so it is believed.
            first, number, digest = head[0] - most + 1, head[0] - most, link.previous or ""
        fault = _fault_of(link, number, digest)
        if fault:
            return Checked(first, number, digest, fault)
        number, digest = number + 1, link.digest or ""
        has_expected = has_expected or digest == expect
        if progress and number % AT_ONCE == 0:
            progress(number, head[0] or number)
    if progress:
        progress(number, number)
    fault = _fault_of_end(number, digest, head) or (
        _unknown(expect) if expect and not has_expected else None
    )
    return Checked(first, number, digest, fault)


def check_chain(links: Iterable[ChainLink], start: Checked) -> Checked:
    """Check entries that follow `start`, up to the first fault, without a head."""
    number, digest = start.number, start.digest
    for link in links:
        if fault := _fault_of(link, number, digest):
            return Checked(start.first, number, digest, fault)
        number, digest = number + 1, link.digest or ""
    return Checked(start.first, number, digest)


def _fault_of(link: ChainLink, number: int, digest: str) -> Fault | None:
    """Return the fault of the entry after entry `number`, if any."""
    expected = number + 1
    if link.number is None:
        return Fault(
            expected,
            link.pk,
            "unchained",
            _("The entry with id %(id)s was added outside the chain.") % {"id": link.pk},
        )
    if link.number > expected:
        gap = (
            _("Entry %(first)s is missing.")
            if link.number == expected + 1
            else _("Entries %(first)s to %(last)s are missing.")
        ) % {"first": expected, "last": link.number - 1}
        return Fault(expected, None, "missing", gap)
    if link.digest != sha256(f"{link.previous}\n{link.content}".encode()).hexdigest():
        return Fault(
            expected, link.pk, "changed", _("Entry %(number)s was changed.") % {"number": expected}
        )
    if link.number < expected or link.previous != digest:
        return Fault(
            link.number,
            link.pk,
            "reordered",
            _(
                "Entry %(number)s does not follow the one before it: entries were reordered, "
                "removed or replaced."
            )
            % {"number": link.number},
        )
    return None


def _fault_of_end(number: int, digest: str, head: tuple[int | None, str | None]) -> Fault | None:
    """Return the fault between the last entry and the head, if any."""
    head_number, head_digest = head
    if head_number is None:
        if number == 0:
            return None  # nothing has ever been recorded
        return Fault(number + 1, None, "missing", _("The head of the log is missing."))
    if head_number > number:
        return Fault(
            number + 1,
            None,
            "missing",
            _("The end is cut off: there were %(before)s entries, and %(left)s are left.")
            % {"before": head_number, "left": number},
        )
    if (head_number, head_digest) != (number, digest):
        return Fault(
            number,
            None,
            "reordered",
            _("Entry %(number)s is not the last one that was written.") % {"number": number},
        )
    return None


def _unknown(expect: str) -> Fault:
    return Fault(
        0,
        None,
        "unknown-head",
        _("No entry has the digest %(digest)s: the log was cut off before it, or rewritten.")
        % {"digest": expect},
    )


def read_links(most: int | None) -> Generator[ChainLink]:
    """Yield entries in the order of the chain, with the head from the same snapshot."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(_CHAIN, {"most": most})
        while rows := cursor.fetchmany(AT_ONCE):
            yield from (ChainLink(*row) for row in rows)


# One statement, so one snapshot: entries that are added meanwhile are in neither half.
_CHAIN = """
SELECT head.number, head.digest, archive.number, archive.digest,
  entry.id, entry.number, entry.previous, entry.digest,
  (jsonb_build_array(
    to_char(entry.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    entry.by_id, entry.by_name, entry.action, entry.target, entry.details,
    entry.request_id, entry.key_prefix, entry.address)
  || CASE WHEN entry.version = 1 THEN '[]'::jsonb ELSE jsonb_build_array(
    entry.version, entry.actor_kind, entry.credential, entry.key_id, entry.key_name,
    entry.subject_id, entry.subject_name) END)::text
FROM (VALUES (1)) AS always
LEFT JOIN acl_audithead AS head ON true
LEFT JOIN (SELECT * FROM acl_auditarchive ORDER BY number DESC LIMIT 1) AS archive ON true
LEFT JOIN acl_auditentry AS entry
  ON entry.number IS NULL OR entry.number > GREATEST(head.number - %(most)s, archive.number, 0)
ORDER BY entry.number NULLS LAST, entry.id
"""


# Heads of the audit log that were kept elsewhere, compared with the log now.
#
# An anchor is a line with a JSON object: `{"at": …, "digest": …, "number": …}`. Words before it,
# such as those of a system log, do not matter.

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
