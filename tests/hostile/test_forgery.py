"""GET changes nothing, nor do forms from other sites (CSRF-1).

Keys are taken from the Authorization header alone, which no other site can make a browser send.
"""

from collections.abc import Iterator

import pytest
from django.test import Client

from tests.examples import some_of
from tests.hostile.asking import ask, parts_of, send
from tests.hostile.places import EVERY, Place, each_place_to_look_at
from tests.hostile.routes import DJANGO_ADMIN, NOWHERE, SCIM, Row, methods_of
from tests.hostile.tables import Contents, changed, contents, undone
from tests.hostile.world import OUTSIDE, World

pytestmark = pytest.mark.usefixtures("logs_are_short")
CHANGING = ("POST", "PUT", "PATCH", "DELETE")
# Parameters that a page would act on if it took a query for a form.
TEMPTING = {"_method": "DELETE", "action": "delete", "confirm": "yes", "post": "yes", "save": "1"}


@each_place_to_look_at
def test_looking_changes_no_row(world: World, place: Place, before: Contents) -> None:
    for row in place.rows:
        of_django = row.door is DJANGO_ADMIN
        query, body, fill = parts_of(world, row)
        # Alice is refused by what is for admins (test_every_route.py).
        for who in ("root", "alice") if row.door.insider == "alice" else ("root",):
            client = world.client(who)
            send(client, row, "GET", (query | body | TEMPTING, {}, fill))
            if of_django:  # whose pages do the same without what tempts, and take OPTIONS for GET
                continue
            # Without what tempts, a page may take another way.
            send(client, row, "GET", (query, {}, fill))
        if not of_django:
            send(world.client("root"), row, "OPTIONS", (query, {}, fill))

    assert changed(before) == set(), [row.route for row in place.rows]


# Programs call them, and a session means nothing there.
SESSIONLESS = {"oauth/register", "oauth/token", "oauth/revoke"}


@pytest.mark.long
@pytest.mark.parametrize("who", ["alice", "root"])
def test_session_without_a_token_changes_nothing(world: World, who: str) -> None:
    client, before = world.client(who, enforce_csrf_checks=True), contents()

    wrong = [said for row in _rows_of(who) for said in _unexpected(world, client, row)]

    assert wrong == []
    if changed(before):
        told = [row.route for row in _rows_of(who) if _changes(world, client, row)]
        pytest.fail(f"{changed(before)} were changed by one of {told}")


def _rows_of(who: str) -> list[Row]:
    """Return every other row: nothing looks at whose session comes without a token."""
    return [row for row in EVERY if who in some_of(("alice", "root"), row.route)]


def _unexpected(world: World, client: Client, row: Row) -> Iterator[str]:
    """Send all that may change something; return unexpected answers."""
    for method in sorted(set(CHANGING) & set(methods_of(row))):
        status = ask(world, client, row, method).status_code
        usual = {404} if row.door is NOWHERE else {403}
        others = set() if method in row.methods.split() else {404, 405}
        if row.route in SESSIONLESS:
            others = {400, 405}
        if row.door is SCIM:  # which knows keys alone
            usual = {401}
        if status not in usual | others:
            yield f"{row.route}: {method} {status}"


def _changes(world: World, client: Client, row: Row) -> bool:
    with undone():
        before = contents()
        list(_unexpected(world, client, row))
        return bool(changed(before))


def test_signing_in_needs_a_token(world: World) -> None:
    client = Client(enforce_csrf_checks=True)

    assert client.post("/sign-in/", {"username": "root", "password": "x"}).status_code == 403
    assert client.post("/sign-out/").status_code == 403


@pytest.mark.parametrize(
    "row", [row for row in EVERY if row.door.is_api], ids=lambda row: row.route
)
def test_key_is_taken_from_the_header_alone(world: World, row: Row) -> None:
    raw = world.keys["own key"]
    query, body, fill = parts_of(world, row)
    names = ("key", "api_key", "apikey", "token", "access_token", "Authorization", "bearer")
    smuggled = dict.fromkeys(names, raw)

    for method in row.methods.split():
        ways = {
            "query": (Client(), ({**query, **smuggled}, body, fill)),
            "body": (Client(), (query, {**body, **smuggled}, fill)),
            "cookie": (Client(), (query, body, fill)),
            "x-api-key": (Client(headers={"X-API-Key": raw, "Api-Key": raw}), (query, body, fill)),
            "basic": (Client(headers={"Authorization": f"Basic {raw}"}), (query, body, fill)),
            "token": (Client(headers={"Authorization": f"Token {raw}"}), (query, body, fill)),
            "bare": (Client(headers={"Authorization": raw}), (query, body, fill)),
        }
        for name in names:
            ways["cookie"][0].cookies[name] = raw
        for way, (client, parts) in ways.items():
            client.defaults["REMOTE_ADDR"] = OUTSIDE

            assert send(client, row, method, parts).status_code == 401, f"{method} by {way}"
