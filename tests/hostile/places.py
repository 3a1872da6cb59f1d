"""All routes with a row, grouped by test: a route of ours, or a table of Django's admin."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest

from tests.examples import some_of
from tests.hostile.routes import ADMIN_PAGE, DJANGO_ADMIN, GROUPS_PAGE, OWN_PAGE, PAGE, Row, rows_of
from tests.hostile.urlconf import all_routes


@dataclass(frozen=True)
class Place:
    """Routes that are tested together."""

    name: str
    rows: tuple[Row, ...]


@cache
def _places() -> list[Place]:
    rows: dict[str, list[Row]] = {}
    for route in all_routes():
        for row in rows_of(route):
            parts = route.split("/")[:3] if row.door is DJANGO_ADMIN else [route or "/"]
            rows.setdefault("/".join(parts), []).append(row)
    return [Place(name, tuple(some)) for name, some in rows.items()]


def places_where(
    wanted: Callable[[Row], object], *, tables: str = "", together: int = 12
) -> pytest.MarkDecorator:
    """Parametrize a test by places with the wanted rows, omitting places without any.

    With a name for them, a third of the tables of Django's admin stand for all: others for each
    name. So many places share a test, its world, and the look at what has changed at its end.
    """
    some = [Place(place.name, tuple(filter(wanted, place.rows))) for place in _places()]
    some = [place for place in some if place.rows]
    alike = [place for place in some if tables and place.rows[0].door is DJANGO_ADMIN]
    chosen = some_of(alike, tables, len(alike) // 3)
    some = [place for place in some if place not in alike or place in chosen]
    some = [_joined(some[start : start + together]) for start in range(0, len(some), together)]
    return pytest.mark.parametrize("place", some, ids=lambda place: place.name)


def _joined(places: list[Place]) -> Place:
    """Return the places as one, whose name has all of theirs, so that `-k` finds each."""
    return Place(" ".join(place.name for place in places), sum((p.rows for p in places), ()))


def is_of_table(row: Row, *pages: str) -> bool:
    """Return True for these pages of a table in Django's admin, such as "add/"; "" is its list.

    Each of its seventy tables has the same six, and the code behind them is the same for all.
    """
    return row.door is DJANGO_ADMIN and "/".join(row.route.split("/")[3:]) in pages


CHANGE = "<path:object_id>/change/"
# These show a row or refer to another page, read no parameter, and have no field to fill in.
ONLY_SHOWN = ("<path:object_id>/", "<path:object_id>/history/", "<path:object_id>/delete/")
EVERY = [row for place in _places() for row in place.rows]
each_place = places_where(lambda row: True)
each_place_to_look_at = places_where(lambda row: True, tables="looking")


PAGES = [
    row
    for row in EVERY
    if row.door in (PAGE, GROUPS_PAGE, OWN_PAGE, ADMIN_PAGE, DJANGO_ADMIN)
    and "GET" in row.methods
    and not re.search(r"export|csv|autocomplete|jsi18n|password_change", row.route)
]
