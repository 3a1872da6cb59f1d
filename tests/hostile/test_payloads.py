"""Stored texts are displayed as text on all pages (XSS-1).

What a browser makes of them is in `test_payloads_in_browser.py`.
"""

import pytest
from django.test import Client

from tests.hostile.asking import parts_of, send
from tests.hostile.payloads import PAYLOADS, some_more, spread
from tests.hostile.places import PAGES
from tests.hostile.routes import ADMIN_PAGE, GROUPS_PAGE, OWN_PAGE, PAGE, Row
from tests.hostile.world import World


@pytest.mark.parametrize("number", range(2))
def test_every_payload_is_escaped_on_every_page(world: World, number: int) -> None:
    some_more(world)
    spread(world, PAYLOADS[number::2])
    raw = [one for one in PAYLOADS if "<" in one]

    for who, doors in (("root", (ADMIN_PAGE, PAGE)), ("alice", (PAGE, GROUPS_PAGE, OWN_PAGE))):
        client = world.client(who)
        for row in PAGES:
            if row.door in doors:
                body = _shown(world, client, row)
                assert [one for one in raw if one in body] == [], row.route


def _shown(world: World, client: Client, row: Row) -> str:
    response = send(client, row, "GET", parts_of(world, row))
    assert response.status_code < 500, row.route
    return str(response.content.decode())
