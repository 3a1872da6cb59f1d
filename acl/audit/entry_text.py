"""Audit entries in words, for pages: the chain of an act, and the details as rows."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from acl.actor.chain import ActorKind, CredentialKind
from acl.models import AuditEntry, ChainColumns
from acl.visible_text.canonical_json import text_of_value
from acl.visible_text.pieces import show_text

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
    actor = User.objects.filter(pk=row.actor_id).first() if not _is_loaded(row) else row.actor
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


def _is_loaded(row: ChainColumns) -> bool:
    return "actor" in row._state.fields_cache


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
