"""Terms of all tables that grow, and the sweep that applies them.

Each batch is a transaction of its own that takes only rows which nobody holds, and gives up rather
than wait: what it leaves is taken the next time. After each it rests as long as it took.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.db import OperationalError, connection, models, transaction
from django.db.models import Exists, OuterRef

from acl.models import RightsPeriod
from acl.platform.database_work import database_now
from discovery.insights.figures import forget_turns
from discovery.models import Call, Chat, ChatMessage, ServerRequest, Turn
from marketplace.models import NotificationDelivery

BATCH = 500
_PATIENCE = "200ms"  # for a lock; nobody waits longer for what the sweep holds itself
_SECONDS = 60  # of a run; the next one goes on
log = structlog.get_logger(__name__)

# Deletes up to so many rows from before a moment, and returns how many.
Forget = Callable[[datetime, int], int]


@dataclass(frozen=True, slots=True)
class Term:
    """A table's term: the setting with its days, how its rows go, and what stays of them."""

    model: type[models.Model]
    setting: str
    forget: Forget
    figures: str = ""  # where sums of the rows are kept

    @property
    def days(self) -> int:
        """Return the days of the setting; 0 is for ever."""
        return int(getattr(settings, self.setting))


def older(model: type[models.Model], column: str, **clear: Any) -> Forget:
    """Return what deletes rows by a moment of theirs, or sets the columns of `clear`."""

    def forget(before: datetime, most: int) -> int:
        rows = model._default_manager.filter(**{f"{column}__lt": before}).order_by(column)
        return _take(rows.exclude(**clear) if clear else rows, most, clear)

    return forget


def forget_chats(before: datetime, most: int) -> int:
    """Delete chats whose last message is older."""
    later = ChatMessage.objects.filter(chat=OuterRef("pk"), created_at__gte=before)
    return _take(Chat.objects.filter(~Exists(later), created_at__lt=before), most, {})


def _take(rows: "models.QuerySet[Any]", most: int, clear: dict[str, Any]) -> int:
    """Delete or clear some rows that nobody holds; return how many."""
    free = rows.only("pk").select_for_update(skip_locked=True, of=("self",))
    keys = [row.pk for row in free[:most]]
    chosen = rows.model._default_manager.filter(pk__in=keys)
    if clear:
        chosen.update(**clear)
    else:
        chosen.delete()
    return len(keys)


def forget_periods(before: datetime, most: int) -> int:
    """Delete ended periods of rights by the function that may: the application's role may not."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT acl_forget_periods(%s, %s)", [before, most])
        number: int = cursor.fetchone()[0]
    return number


TERMS = (
    Term(
        Turn,
        "PEGBOARD_TURN_DAYS",
        lambda before, most: forget_turns(before=before, most=most),
        figures="discovery_dayfigures",
    ),
    Term(Turn, "PEGBOARD_MESSAGE_DAYS", older(Turn, "created_at", message="")),
    Term(Call, "PEGBOARD_CALL_DAYS", older(Call, "ended_at")),
    Term(ServerRequest, "PEGBOARD_CALL_DAYS", older(ServerRequest, "created_at")),
    Term(NotificationDelivery, "PEGBOARD_DELIVERY_DAYS", older(NotificationDelivery, "ended_at")),
    Term(AccessLog, "PEGBOARD_SIGN_IN_DAYS", older(AccessLog, "attempt_time")),
    Term(AccessFailureLog, "PEGBOARD_SIGN_IN_DAYS", older(AccessFailureLog, "attempt_time")),
    Term(AccessAttempt, "PEGBOARD_SIGN_IN_DAYS", older(AccessAttempt, "attempt_time")),
    Term(Session, "PEGBOARD_SIGN_IN_DAYS", older(Session, "expire_date")),
    Term(LogEntry, "PEGBOARD_SIGN_IN_DAYS", older(LogEntry, "action_time")),
    Term(Chat, "PEGBOARD_CHAT_DAYS", forget_chats),
    Term(RightsPeriod, "PEGBOARD_RIGHTS_DAYS", forget_periods),
)


def apply_terms(*, seconds: float = _SECONDS, batch: int = BATCH) -> dict[str, int]:
    """Delete what is older than its term, for at most so long; return how many rows by table and
    setting."""
    end, removed = time.monotonic() + seconds, dict.fromkeys(_names(), 0)
    for name, term in zip(_names(), TERMS, strict=True):
        if not term.days:
            continue
        # Whole days, so that a day's figures come from its rows or from their sums.
        day = database_now().replace(hour=0, minute=0, second=0, microsecond=0)
        before, number = day - timedelta(days=term.days), batch
        while number == batch and time.monotonic() < end:
            started = time.monotonic()
            number = _batch(term, before, batch)
            removed[name] += number
            time.sleep(time.monotonic() - started if number == batch else 0)
    if any(removed.values()):
        log.info("old rows deleted", **{name: number for name, number in removed.items() if number})
    return removed


def _names() -> list[str]:
    return [f"{term.model._meta.db_table} {term.setting}" for term in TERMS]


def _batch(term: Term, before: datetime, most: int) -> int:
    """Apply a term to some rows; none where another would have to be waited for."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [_PATIENCE])
            return term.forget(before, most)
    except OperationalError as problem:
        log.info("old rows are held", table=term.model._meta.db_table, reason=str(problem))
        return 0
