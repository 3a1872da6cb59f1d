"""Rights at a past moment: the same statements, over the tables as they were then.

Triggers keep what rights depend on as periods (`acl/models/rights_change.py`). `rights_at` builds
the tables as they were at a moment, as temporary ones of the same names, which Postgres finds
first. So there is one description of rights for all moments, and whatever asks by these tables
answers for the past.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, time
from functools import cache

from django.apps import apps
from django.db import connection, transaction
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.formats import date_format
from django.utils.timezone import is_naive, localtime, make_aware
from django.utils.translation import gettext as _

from acl.models import RightsPeriod
from acl.models.rights_change import KEEPER


class MomentUnknown(ValueError):
    """Moment of which nothing is recorded, or which has not come yet; the reason is in words."""


_moment: ContextVar[datetime | None] = ContextVar("rights_at", default=None)


def past_moment() -> datetime | None:
    """Return the moment that `rights_at` answers for; None for now."""
    return _moment.get()


def recorded_since() -> datetime | None:
    """Return the moment since which the record is complete, or None if there is no record."""
    marks = RightsPeriod.objects.order_by("began").values_list("began", flat=True)
    return marks.filter(table="").last() or marks.first()


def parse_moment(text: str) -> datetime | None:
    """Return the moment of a date, which is the end of that day, or of a date with a time.

    Without an offset it is of the current time zone. None without a text: now.
    """
    if not text:
        return None
    try:
        day, moment = parse_date(text), parse_datetime(text)
    except ValueError:
        day = moment = None
    if day is not None and len(text) == len(day.isoformat()):
        moment = datetime.combine(day, time.max)
    if moment is None:
        raise MomentUnknown(_("Enter a date such as 2026-03-03, or a date with a time."))
    moment = make_aware(moment) if is_naive(moment) else moment
    # The end of today is this moment.
    return min(moment, _clock()) if day is not None and day == localtime().date() else moment


def _clock() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment


@contextmanager
def rights_at(moment: datetime | None) -> Iterator[None]:
    """Answer in this block as at `moment`; None changes nothing.

    Raises MomentUnknown where that cannot be known. Whoever asks is judged by what is loaded before
    the block, so by their rights now. What is written in it, such as who has looked, is kept.
    """
    if moment is None:
        yield
        return
    check_moment(moment)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SHOW search_path")
        [usual] = cursor.fetchone()
        for table, statement in _past_tables().items():
            cursor.execute(statement, {"table": table, "moment": moment})
            # Without an index and statistics, a join of 20,000 tools takes ten seconds.
            cursor.execute(f"CREATE INDEX ON pg_temp.{table} (id); ANALYZE pg_temp.{table}")
        # Named, it also makes prepared statements look for their tables anew.
        cursor.execute("SET LOCAL search_path = pg_temp, public")
        token = _moment.set(moment)
        try:
            yield
        finally:
            _moment.reset(token)
        cursor.execute(f"DROP TABLE {', '.join(f'pg_temp.{table}' for table in _past_tables())}")
        cursor.execute("SELECT set_config('search_path', %s, true)", [usual])


def check_moment(moment: datetime) -> None:
    """Raise MomentUnknown if nothing is recorded of the moment, or it has not come yet."""
    since = recorded_since()
    if since is None or moment < since:
        raise MomentUnknown(
            _("Rights are recorded since %(since)s. What was before cannot be known.")
            % {"since": date_format(localtime(since), "DATETIME_FORMAT") if since else _("now")}
        )
    if moment > _clock():
        raise MomentUnknown(_("This moment has not come yet."))


@cache
def _past_tables() -> dict[str, str]:
    """Return the statement that builds each table of the record."""
    return {
        trigger.table: _TABLE.format(
            table=trigger.table,
            row="own" if trigger.table in _WITH_OTHER_COLUMNS else f"NULL::public.{trigger.table}",
            facts=_FACTS_THAT_END if f"'{_END}'" in trigger.arguments else "p.facts",
        )
        for model in apps.get_models()
        for trigger in getattr(model, "triggers", ())
        if trigger.function == KEEPER
    }


# Pages show more of a person than what rights read of them, such as a name: it is that of now,
# since the record keeps only what rights depend on.
_WITH_OTHER_COLUMNS = {"auth_user"}
_TABLE = """
CREATE TEMPORARY TABLE {table} ON COMMIT DROP AS
SELECT r.* FROM public.acl_rightsperiod p
LEFT JOIN public.{table} own ON own.id = p.key
CROSS JOIN LATERAL jsonb_populate_record({row}, {facts}) r
WHERE p."table" = %(table)s AND p.began <= %(moment)s
  AND (p.ended IS NULL OR p.ended > %(moment)s)
"""
# The statements compare this column with the clock, which is another one by now.
_END = "expires_at"
_FACTS_THAT_END = f"""p.facts || jsonb_build_object('{_END}',
  CASE WHEN (p.facts ->> '{_END}')::timestamptz <= %(moment)s THEN '1970-01-01+0'
       WHEN p.facts ->> '{_END}' IS NOT NULL THEN '9999-01-01+0' END)"""
