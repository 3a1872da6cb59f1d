"""Reading the audit log: filtered, a page at a time, as CSV and JSON lines, and in words."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from acl.actor import ActorKind, CredentialKind
from acl.models import AuditEntry, AuditHead, ChainColumns
from acl.platform import csv_lines as csv
from acl.platform.strict_json import write_json
from acl.visible_text.canonical_json import text_of_value
from acl.visible_text.pieces import show_text

# Audit entries in words, for pages: the chain of an act, and the details as rows.

# Values of the log's filter as well, so not translated here.
COMMAND = gettext_noop("command line")
SYSTEM = "Pegboard"
_NOBODY = {
    ActorKind.KEY: gettext_lazy("nobody: the key has no owner"),
    ActorKind.OPERATOR: gettext_lazy("command line"),
    ActorKind.SYSTEM: SYSTEM,
}
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?[+-]\d\d:\d\d$")
# How services name the two sides of a change.
SIDES = (("before", "after"), ("from", "to"), ("old", "new"))


@dataclass(frozen=True, slots=True)
class DetailRow:
    """A row: a label, and a value or the two sides of a change."""

    label: str
    value: str = ""
    before: str = ""
    after: str = ""
    changed: bool = False


def actor_text(row: ChainColumns) -> str:
    """Return the name of the row's actor. Select `actor` for lists."""
    if row.actor_id is None:
        kind = row.actor_kind and ActorKind(row.actor_kind)
        return str(_NOBODY.get(kind, _("not recorded"))) if kind else ""
    actor = (
        User.objects.filter(pk=row.actor_id).first()
        if "actor" not in row._state.fields_cache
        else row.actor
    )
    name = actor.get_full_name() or actor.get_username() if actor else _("deleted account")
    return _with_kind(name, row.actor_kind)


def credential_text(row: ChainColumns | AuditEntry) -> str:
    """Return the credential: a session, a key by its name and first characters, or ""."""
    if row.credential == CredentialKind.SESSION:
        return _("signed in")
    if not row.key_prefix:
        return ""
    if not row.key_name:
        return _("key %(prefix)s…") % {"prefix": row.key_prefix}
    return _("key %(name)s (%(prefix)s…)") % {"name": row.key_name, "prefix": row.key_prefix}


def entry_actor_text(entry: AuditEntry) -> str:
    """Return the name of the entry's actor, as it was then."""
    if entry.by_name:
        return _with_kind(entry.by_name, entry.actor_kind)
    return str(_NOBODY[ActorKind(entry.actor_kind)]) if entry.actor_kind else _(COMMAND)


def detail_rows(details: Any) -> list[DetailRow]:
    """Build the rows of an entry's details, whatever their shape."""
    if not isinstance(details, dict):
        return [DetailRow(_("details"), _text(details))] if details else []
    return list(_rows(details))


def _with_kind(name: str, kind: str) -> str:
    if kind != ActorKind.SERVICE_ACCOUNT:
        return name
    return _("%(name)s (service account)") % {"name": name}


def _rows(details: dict[str, Any]) -> Iterator[DetailRow]:
    sides = _sides_of(details)
    if sides:
        yield from _compared("", *(details[side] for side in sides))
    for name, value in details.items():
        if name in sides or value in (None, "", [], {}):
            continue
        label = show_text(name.replace("_", " "))
        inner = _sides_of(value) if isinstance(value, dict) else ()
        if inner:
            yield from _compared(label, *(value[side] for side in inner))
        else:
            yield DetailRow(label, _text(value))


def _sides_of(details: dict[str, Any]) -> tuple[str, ...]:
    return next((pair for pair in SIDES if set(pair) <= details.keys()), ())


def _compared(label: str, before: Any, after: Any) -> Iterator[DetailRow]:
    """Return one row, or for two objects a row per changed field."""
    if not (isinstance(before, dict) and isinstance(after, dict)):
        yield DetailRow(
            label or _("change"), before=_text(before), after=_text(after), changed=True
        )
        return
    for name in {**before, **after}:
        old, new = before.get(name), after.get(name)
        if old != new:
            where = f"{label}: {name}" if label else name
            sides = {"before": _text(old), "after": _text(new)}
            yield DetailRow(show_text(where.replace("_", " ")), **sides, changed=True)


def _text(value: Any) -> str:
    """Format times and missing values as words, other values canonically."""
    match value:
        case None:
            return _("none")
        case bool():
            return _("yes") if value else _("no")
        case str() if MOMENT.match(value):
            try:
                moment = datetime.fromisoformat(value).astimezone(UTC)
            except (ValueError, OverflowError):  # a day that no calendar has
                return text_of_value(value)
            return f"{moment:%-d %b %Y, %H:%M} UTC"
    return text_of_value(value)


# Reading the audit log: filtered, a page at a time, or as CSV and JSON lines.

PAGE = 50
AT_ONCE = 2000
MOST_COUNTED = 10_000
MOST_CHOICES = 200
NOBODY = {
    COMMAND: (ActorKind.OPERATOR, ""),  # entries from before the chain was kept say no more
    SYSTEM: (ActorKind.SYSTEM,),
    "keys without an owner": (ActorKind.KEY,),
}


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Filters of the audit log; days are whole days in UTC."""

    by: str = ""  # or on whose behalf
    action: str = ""
    target: str = ""
    since: date | None = None
    until: date | None = None


@dataclass(frozen=True, slots=True)
class EntryPage:
    """A page of entries, newest first, with the ids at which its neighbours begin."""

    entries: tuple[AuditEntry, ...]
    newer: int | None
    older: int | None


def list_entries(filters: EntryFilter) -> QuerySet[AuditEntry]:
    """Return matching entries, unordered."""
    entries = AuditEntry.objects.all()
    if filters.by:
        kinds = NOBODY.get(filters.by)
        by_nobody = Q(by_name="", actor_kind__in=kinds or ())
        by_or_for = Q(by_name=filters.by) | Q(subject_name=filters.by)
        entries = entries.filter(by_nobody if kinds else by_or_for)
    if filters.action:
        entries = entries.filter(action=filters.action)
    if filters.target:
        entries = entries.filter(target__icontains=filters.target)
    if filters.since:
        entries = entries.filter(at__gte=_midnight(filters.since))
    if filters.until:
        entries = entries.filter(at__lt=_midnight(filters.until + timedelta(days=1)))
    return entries


def page_of_entries(
    filters: EntryFilter, *, before: int | None = None, after: int | None = None
) -> EntryPage:
    """Return the newest entries, or those beside an id; keyset paging keeps old pages fast."""
    entries = list_entries(filters)
    if after is not None:
        rows = list(entries.filter(pk__gt=after).order_by("pk")[: PAGE + 1])
        more, rows = len(rows) > PAGE, rows[:PAGE][::-1]
        return EntryPage(tuple(rows), rows[0].pk if more else None, rows[-1].pk if rows else None)
    if before is not None:
        entries = entries.filter(pk__lt=before)
    rows = list(entries.order_by("-pk")[: PAGE + 1])
    more, rows = len(rows) > PAGE, rows[:PAGE]
    newer = rows[0].pk if before is not None and rows else None
    return EntryPage(tuple(rows), newer, rows[-1].pk if more else None)


def count_entries(filters: EntryFilter) -> int:
    """Count matching entries, up to MOST_COUNTED + 1. Without filters the head knows the number."""
    if filters == EntryFilter() and (head := log_head()) is not None:
        return head.number
    return list_entries(filters).order_by("pk")[: MOST_COUNTED + 1].count()


def log_head() -> AuditHead | None:
    """Return the head of the log; None before the first entry."""
    return AuditHead.objects.order_by("pk").first()


def stream_entries(filters: EntryFilter) -> Iterator[AuditEntry]:
    """Yield matching entries in portions, oldest first."""
    entries, last = list_entries(filters).order_by("pk"), 0
    while portion := list(entries.filter(pk__gt=last)[:AT_ONCE]):
        yield from portion
        last = portion[-1].pk


def recorded_actions() -> tuple[str, ...]:
    """Return all recorded actions, by name."""
    return _distinct("action")


def recorded_names() -> tuple[str, ...]:
    """Return the first recorded names, as suggestions."""
    names = _distinct("by_name")
    return (*NOBODY, *(name for name in names if name)) if "" in names else names


def _distinct(column: str) -> tuple[str, ...]:
    """Return distinct values by skipping through the index, without reading all entries."""
    with connection.cursor() as cursor:
        cursor.execute(_NEXT.format(column=column), [MOST_CHOICES])
        return tuple(row[0] for row in cursor.fetchall())


_NEXT = """
WITH RECURSIVE found AS (
  (SELECT {column} AS value FROM acl_auditentry ORDER BY {column} LIMIT 1)
  UNION ALL
  SELECT (
    SELECT {column} FROM acl_auditentry WHERE {column} > found.value ORDER BY {column} LIMIT 1)
  FROM found WHERE found.value IS NOT NULL
)
SELECT value FROM found WHERE value IS NOT NULL LIMIT %s
"""


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)


COLUMNS = (
    "number", "at", "by", "by_id", "actor_kind", "credential", "key_id", "key_prefix", "key_name",
    "subject", "subject_id", "action", "target", "details", "request_id", "address", "version",
    "previous", "digest",
)  # fmt: skip


def csv_lines(entries: Iterable[AuditEntry]) -> Iterator[str]:
    """Yield a header line, then a CSV line for each entry."""
    return csv.csv_lines(COLUMNS, map(_row, entries))


def json_lines(entries: Iterable[AuditEntry]) -> Iterator[str]:
    """Yield a JSON object per line."""
    for entry in entries:
        yield write_json(_fields(entry), ensure_ascii=False, compact=False) + "\n"


def event_of_entry(entry: AuditEntry) -> dict[str, Any]:
    """Return the entry as a JSON object for an event log."""
    return {"event": "audit", **_fields(entry)}


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
