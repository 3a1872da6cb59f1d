"""All routes by all methods for everyone who must not get in (IDOR-1, ACL-3, ACL-6).

The routes come from the URLconf, the expected outcomes from `routes.py`.
"""

from contextlib import nullcontext

import pytest
from django.test import Client

from tests.examples import some_of
from tests.hostile.asking import ask, counted, outcomes_of, parts_of, send, words_of
from tests.hostile.places import Place, each_place, places_where
from tests.hostile.routes import (
    DJANGO_ADMIN,
    NOTHING_PRIVATE,
    ROUTES,
    SCOPES,
    SIGN_IN,
    TOLD_NOTHING,
    Row,
    methods_of,
    named_by,
    rows_of,
)
from tests.hostile.tables import Contents, changed, contents, taken_back
from tests.hostile.urlconf import all_routes
from tests.hostile.world import UNKNOWN, World

pytestmark = pytest.mark.usefixtures("logs_are_short")
LET_IN = {TOLD_NOTHING, NOTHING_PRIVATE}
# A key is checked before the method. The row's own methods and OPTIONS show that these are
# refused; the methods that it does not have are tried by sessions and by the other keys.
REFUSED_AT_THE_DOOR = {"revoked key", "expired key", *(f"{scope} key" for scope in SCOPES)}
MEMBERS = {
    "alice",
    "own key",
    "discover key",
}  # these act within mulberry; root may also see finance


def test_every_route_has_a_row() -> None:
    missing = [route for route in all_routes() if not rows_of(route)]

    assert not missing, (
        "Nothing says who may not use these routes: " + ", ".join(missing) + ". Add a line for "
        f'each to ROUTES in tests/hostile/routes.py, such as Row("{missing[0]}", ADMIN_PAGE), with '
        "the door that it is behind, its methods, and a query, body or fill that reaches something "
        "of mulberry's."
    )


def test_every_row_is_still_a_route() -> None:
    assert {row.route for row in ROUTES if isinstance(row, Row)} - set(all_routes()) == set()


@each_place
def test_who_has_no_business_is_refused_by_every_method(
    world: World, place: Place, before: Contents
) -> None:
    wrong = []
    knocks = [(row, who) for row in place.rows for who in row.door.knocking]
    for row, who in knocks:
        with taken_back() if may_change(row, who) else nullcontext():
            wrong += knock(world, world.client(who), row, who)

    assert wrong == []
    if changed(before):
        told = {f"{row.route}: {who}" for row, who in knocks if changes(world, row, who)}
        pytest.fail(f"{changed(before)} were changed by one of {told or knocks}")


def knock(world: World, client: Client, row: Row, who: str) -> list[str]:
    """Send each method; return unexpected outcomes."""
    parts, expected = parts_of(world, row), row.door.knocking[who]
    wrong, sent = [], words_of(parts)
    for method in methods_of(row):
        if is_like_others(row, who, method):
            continue
        outcomes = outcomes_of(send(client, row, method, parts), sent)
        if not outcomes & accepted(row, method, expected):
            wrong.append(f"{row.route}: {who} {method}: {outcomes}, not {expected}")
    return wrong


def is_like_others(row: Row, who: str, method: str) -> bool:
    """Return True for a method and visitor that others stand for, at each row other ones.

    Methods that the row does not have are tried by one of those with a session. Pages ignore keys,
    and the door of Django's admin looks at nothing but the person: of a row's own methods one
    visitor sends it one. A clerk, who is let in there, sends all.
    """
    visitors = tuple(row.door.knocking)
    keys = [one for one in visitors if one.endswith(" key")]
    people = [one for one in visitors if one not in keys]
    if method not in row.methods.split():
        if row.door.is_api and who in keys:
            return who in REFUSED_AT_THE_DOOR and method != "OPTIONS"
        return who not in some_of(people, row.route)
    if row.door is DJANGO_ADMIN:
        is_one = method in some_of(row.methods.split(), row.route + who)
        return who != "clerk" and not (is_one and who in some_of(visitors, row.route))
    return not row.door.is_api and who in keys and who not in some_of(keys, row.route)


def may_change(row: Row, who: str) -> bool:
    """Return True if this visitor is let in and may make changes.

    In Django's admin a clerk is told nothing, and changes nothing.
    """
    is_let_in = bool(row.door.knocking[who] & LET_IN) and row.door is not DJANGO_ADMIN
    return is_let_in and "POST" in row.methods


def changes(world: World, row: Row, who: str) -> bool:
    """Return the tables that a request changed and must not have."""
    with taken_back():
        client, before = world.client(who), contents()
        knock(world, client, row, who)
        return not may_change(row, who) and bool(changed(before))


def accepted(row: Row, method: str, expected: set[int | str]) -> set[int | str]:
    """Return the accepted outcomes: the door's; 405 for missing methods; the description for
    OPTIONS."""
    if method in row.methods.split():
        return expected
    return expected | {405} | ({TOLD_NOTHING} if method == "OPTIONS" else set())


@places_where(named_by, tables="someone else's")
def test_what_is_someone_elses_is_answered_as_what_does_not_exist(
    world: World, place: Place
) -> None:
    for row in place.rows:
        for who in refused(row):
            client = world.client(who)
            for method in row.methods.split():
                if method == row.methods.split()[0]:  # fills the caches
                    ask(world, client, row, method, UNKNOWN)

                theirs = counted(world, client, row, method)

                unknown = counted(world, client, row, method, UNKNOWN)
                assert theirs == unknown, f"{row.route}: {who} {method}"


def refused(row: Row) -> list[str]:
    """Return who is not let in; of those that are all refused alike, one, another for each row.

    The test above sends all of them.
    """
    strangers = [who for who, expected in row.door.knocking.items() if not expected & LET_IN]
    alike = [who for who in strangers if who.endswith(" key") and not row.door.is_api]
    if row.door.is_api:
        alike = [who for who in strangers if who in REFUSED_AT_THE_DOOR]
    if row.door is DJANGO_ADMIN:  # whose door looks at nothing but the person
        alike = [who for who in strangers if row.door.knocking[who] == {SIGN_IN}]
    chosen = some_of(alike, row.route)
    return [who for who in strangers if who not in alike or who in chosen]


@places_where(lambda row: row.door.insider in MEMBERS and named_by(row))
def test_insider_cannot_tell_a_strangers_thing_from_none(world: World, place: Place) -> None:
    for row in place.rows:
        client = world.client(row.door.insider)
        for named in sorted(named_by(row)):
            for method in row.methods.split():
                ask(world, client, row, method, {named: UNKNOWN[named]})

                theirs = counted(world, client, row, method, {named: world.foreign[named]})

                unknown = counted(world, client, row, method, {named: UNKNOWN[named]})
                assert theirs == unknown, f"{row.route}: {method} {named}"
                assert theirs[0] in {400, 403, 404} or "payroll" not in theirs[1]
