"""The log of calls: who called what, when, and how it ended; filtered, by pages or as CSV.

It has no arguments and no results: those belong to the call's user and to its approvers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, time, timedelta
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from acl.keys.lifecycle import KeyHolder
from acl.platform.csv_lines import csv_lines
from catalog.access.group_scope import capabilities_of
from discovery.calls._questions import without_words
from discovery.calls.queries import blank_lost_names, calls_of
from discovery.models import Call

PAGE = 50
MOST_COUNTED = 10_000
MOST_EXPORTED = 100_000
AT_ONCE = 2000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class WrongCursorError(ValueError):
    """The text is no place in the log."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in the log: a call's time, and its id among the calls of that microsecond."""

    at: datetime
    pk: UUID

    def __str__(self) -> str:
        return f"{(self.at - _EPOCH) // _MICROSECOND}-{self.pk.hex}"

    @classmethod
    def of(cls, call: Call) -> "Cursor":
        """Return the place of a call."""
        return cls(call.created_at, call.pk)

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        """Return the place that a page has named. Raises WrongCursorError."""
        number, _, key = text.partition("-")
        if not (number.isascii() and number.isdigit() and len(number) <= 17 and len(key) == 32):
            raise WrongCursorError("This is no cursor of the log.")
        try:
            return cls(_EPOCH + int(number) * _MICROSECOND, UUID(key))
        except (ValueError, OverflowError):
            raise WrongCursorError("This is no cursor of the log.") from None


@dataclass(frozen=True, slots=True)
class CallFilter:
    """Filters of the log. Times are from `since` to before `until`."""

    user: str = ""
    group: str = ""
    integration: str = ""
    tool: str = ""  # the beginning of a full name
    key: str = ""  # the prefix of an API key
    state: str = ""
    reason: str = ""
    turn: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def is_empty(self) -> bool:
        """Return True if nothing is filtered."""
        return not any(getattr(self, field.name) for field in fields(self))


@dataclass(frozen=True, slots=True)
class CallPage:
    """A page of calls, newest first, with the cursors at which its neighbours begin."""

    calls: tuple[Call, ...]
    newer: Cursor | None
    older: Cursor | None


def midnight(day: date) -> datetime:
    """Return the beginning of a day in UTC."""
    return datetime.combine(day, time.min, UTC)


def log_of(principal: KeyHolder | User, *, everyone: bool) -> QuerySet[Call]:
    """Return the principal's own calls, or those of everyone whom they administer.

    Staff administer all groups. A key administers its own, and sees only calls of tools that
    these groups have.
    """
    if not everyone:
        return calls_of(principal)
    if not isinstance(principal, KeyHolder):
        return Call.objects.all() if principal.is_staff else Call.objects.none()
    calls = Call.objects.filter(principal.administered())
    if principal.is_of_the_installation or principal.group_ids is None:
        return calls
    conditions = [
        Q(group=group, capability__in=capabilities_of(group).values("pk"))
        for group in sorted(principal.group_ids)
    ]
    return calls.filter(reduce(or_, conditions)) if conditions else calls.none()


def filter_calls(calls: QuerySet[Call], filters: CallFilter) -> QuerySet[Call]:
    """Return the matching calls, unordered."""
    exact: dict[str, Any] = {
        "user__username": filters.user,
        "group__name": filters.group,
        "capability__integration__slug": filters.integration,
        "full_name__startswith": filters.tool,
        "key_prefix__startswith": filters.key,
        "state": filters.state,
        "reason": filters.reason,
        "turn": filters.turn,
        "created_at__gte": filters.since,
        "created_at__lt": filters.until,
    }
    return calls.filter(**{name: value for name, value in exact.items() if value})


def page_of_calls(
    calls: QuerySet[Call],
    *,
    before: Cursor | None = None,
    after: Cursor | None = None,
    size: int = PAGE,
    is_own: bool = False,
) -> CallPage:
    """Return the newest calls, or those beside a cursor, in one statement.

    In a person's `is_own` log, tools that they may no longer use have no names.
    """
    page = _page(calls, before=before, after=after, size=size)
    if is_own:
        blank_lost_names(page.calls)
    return page


def _page(
    calls: QuerySet[Call], *, before: Cursor | None, after: Cursor | None, size: int
) -> CallPage:
    calls = with_names(calls)
    if after is not None:
        later = calls.filter(_beside(after, "gt")).order_by("created_at", "pk")
        rows = list(later[: size + 1])
        more, rows = len(rows) > size, rows[:size][::-1]
        newer = Cursor.of(rows[0]) if more else None
        return CallPage(tuple(rows), newer, Cursor.of(rows[-1]) if rows else None)
    if before is not None:
        calls = calls.filter(_beside(before, "lt"))
    rows = list(calls.order_by("-created_at", "-pk")[: size + 1])
    more, rows = len(rows) > size, rows[:size]
    newer = Cursor.of(rows[0]) if before is not None and rows else None
    return CallPage(tuple(rows), newer, Cursor.of(rows[-1]) if more else None)


def count_calls(calls: QuerySet[Call]) -> int:
    """Count the calls, up to MOST_COUNTED + 1."""
    return calls.order_by("-created_at", "-pk")[: MOST_COUNTED + 1].count()


def stream_calls(calls: QuerySet[Call], *, is_own: bool = False) -> Iterator[Call]:
    """Yield the newest MOST_EXPORTED calls in portions."""
    place: Cursor | None = None
    for _ in range(MOST_EXPORTED // AT_ONCE):
        page = page_of_calls(calls, before=place, size=AT_ONCE, is_own=is_own)
        yield from page.calls
        place = page.older
        if place is None:
            return


def milliseconds_of(call: Call) -> int | None:
    """Return how long the call ran, without its wait for approval, or None."""
    if call.started_at is None or call.ended_at is None:
        return None
    return max(0, round((call.ended_at - call.started_at).total_seconds() * 1000))


COLUMNS = (
    "id", "at", "user", "group", "tool", "side_effect", "state", "reason", "actor", "credential",
    "key_prefix", "key_name", "turn", "needs_approval", "decided_by", "decided_at", "started_at",
    "ended_at", "milliseconds", "questions",
)  # fmt: skip


def csv_of(calls: QuerySet[Call], *, is_own: bool = False) -> Iterator[str]:
    """Yield a header line, then a CSV line for each call, newest first."""
    return csv_lines(COLUMNS, map(_row, stream_calls(calls, is_own=is_own)))


def _row(call: Call) -> tuple[Any, ...]:
    rows = without_words(call.questions or ())
    questions = "; ".join(f"{question['kind']} {question['state']}" for question in rows)
    return (
        str(call.pk), call.created_at.isoformat(), call.user.username, call.group.name,
        call.full_name, call.side_effect, call.state, call.reason,
        call.actor.username if call.actor else "", call.credential, call.key_prefix, call.key_name,
        str(call.turn_id or ""), call.needs_approval,
        call.decided_by.username if call.decided_by else "", _iso(call.decided_at),
        _iso(call.started_at), _iso(call.ended_at), milliseconds_of(call),
        questions,
    )  # fmt: skip


def _iso(at: datetime | None) -> str:
    return at.isoformat() if at else ""


def event_of_call(call: Call) -> dict[str, Any]:
    """Return the call as a JSON object for an event log, without arguments and result."""
    return {"event": "call", **dict(zip(COLUMNS, _row(call), strict=True))}


def with_names(calls: QuerySet[Call]) -> QuerySet[Call]:
    """Join the names, without the long texts of the calls."""
    return calls.select_related("user", "group", "actor", "decided_by").defer(
        "arguments_json", "result_json", "message"
    )


def _beside(cursor: Cursor, way: str) -> Q:
    """Match calls on one side of the cursor. The first condition lets an index be used."""
    same = Q(created_at=cursor.at, **{f"pk__{way}": cursor.pk})
    return Q(**{f"created_at__{way}e": cursor.at}) & (Q(**{f"created_at__{way}": cursor.at}) | same)
