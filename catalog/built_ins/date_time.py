"""Date and time: the moment in any zone, differences, working days, and moments from another."""

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from django.utils import timezone

from catalog.built_ins.base import RowOwner, Toolbox, ToolError
from catalog.formats.descriptors import JSONObject

SLUG = "date-time"
TOOLS = Toolbox()
_PARTS = ("years", "months", "weeks", "days", "hours", "minutes")


def _zone(name: Any) -> ZoneInfo:
    try:
        return ZoneInfo(str(name or "UTC").strip().replace(" ", "_"))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ToolError(
            f"There is no time zone '{str(name)[:60]}'. Use a name such as Europe/Berlin."
        ) from None


def _moment(text: Any, zone: ZoneInfo) -> datetime:
    """Return a moment; a day alone means its beginning, and what has no offset is in `zone`."""
    try:
        moment = datetime.fromisoformat(str(text).strip())
        return moment if moment.tzinfo else moment.replace(tzinfo=zone)
    except (ValueError, OverflowError):
        raise ToolError(
            f"'{str(text)[:40]}' is no date. Write 2026-03-31 or 2026-03-31T14:30."
        ) from None


def _day(text: Any) -> date:
    return _moment(text, ZoneInfo("UTC")).date()


def _describe(moment: datetime) -> JSONObject:
    year, week, _ = moment.isocalendar()
    return {
        "iso": moment.isoformat(timespec="seconds"),
        "weekday": f"{moment:%A}",
        "week": f"{year}-W{week:02}",
        "timezone": str(moment.tzinfo),
        "utc_offset": f"{moment:%z}",
    }


@TOOLS.add("now")
def _now(arguments: JSONObject, owner: RowOwner) -> JSONObject:
    return _describe(timezone.now().astimezone(_zone(arguments.get("timezone"))))


@TOOLS.add("convert")
def _convert(arguments: JSONObject, owner: RowOwner) -> JSONObject:
    moment = _moment(arguments["moment"], _zone(arguments.get("from_timezone")))
    try:
        return _describe(moment.astimezone(_zone(arguments["to_timezone"])))
    except OverflowError:
        raise ToolError("That is outside of the years 1 to 9999.") from None


def _holidays(arguments: JSONObject) -> list[date]:
    return [_day(text) for text in arguments.get("holidays") or ()]


def _add_months(day: date, months: int) -> date:
    """Return the day that many months later, or the last day of that month."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


@TOOLS.add("difference")
def _difference(arguments: JSONObject, owner: RowOwner) -> JSONObject:
    zone = _zone(arguments.get("timezone"))
    start, end = (_moment(arguments[name], zone) for name in ("start", "end"))
    seconds = (end.astimezone(UTC) - start.astimezone(UTC)).total_seconds()
    # From the first day up to the last one, which does not count: Monday to Friday are 4.
    working = np.busday_count(start.date(), end.date(), holidays=_holidays(arguments))
    first, last = sorted((start.date(), end.date()))
    months = (last.year - first.year) * 12 + last.month - first.month
    months -= _add_months(first, months) > last
    return {
        "days": (end.date() - start.date()).days,
        "working_days": int(working),
        "hours": round(seconds / 3600, 4),
        "years_months_days": [*divmod(months, 12), (last - _add_months(first, months)).days],
    }


@TOOLS.add("shift")
def _shift(arguments: JSONObject, owner: RowOwner) -> JSONObject:
    zone = _zone(arguments.get("timezone"))
    moment = _moment(arguments["start"], zone)
    try:
        years, months, *others = (int(arguments.get(name) or 0) for name in _PARTS)
        moment = datetime.combine(_add_months(moment.date(), 12 * years + months), moment.timetz())
        moment += timedelta(weeks=others[0], days=others[1])
        if working := int(arguments.get("working_days") or 0):
            # From a weekend, the first working day is the next Monday, or the Friday before.
            offset = np.busday_offset(
                moment.date(),
                working,
                roll="backward" if working > 0 else "forward",
                holidays=_holidays(arguments),
            )
            moment = datetime.combine(_day(offset), moment.timetz())
        # Hours pass on the clock of the whole world: on the night of a change a day has 23 or 25.
        passed = timedelta(hours=others[2], minutes=others[3])
        return _describe((moment.astimezone(UTC) + passed).astimezone(moment.tzinfo))
    except (OverflowError, ValueError):
        raise ToolError("That is outside of the years 1 to 9999.") from None
