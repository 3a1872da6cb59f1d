"""MCP answers depend on the key's owner alone (ACL-1, ACL-3, ACL-4)."""

import json
import re
from random import Random
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.access.people import People
from tests.access.ways import META_CALLS, hide_something
from tests.factories import take_away
from tests.mcp.asking import ask, ask_modern
from tests.web.conftest import new_key

OURS = "gmail__send_email"
# Current states of Redis or the model, which are no secret.
_DEGRADED = re.compile(rb',\\?"degraded\\?":\\?"[^"]*"')
# A call's random id.
_CALL = re.compile(rb'call_id\\?":\\?"[0-9a-f-]{36}')


def _calls(name: str = OURS) -> list[tuple[str, dict[str, Any]]]:
    listing: list[tuple[str, dict[str, Any]]] = [("tools/list", {})]
    return listing + [
        (
            "tools/call",
            json.loads(json.dumps({"name": tool, "arguments": sent}).replace("NAME", name)),
        )
        for tool, sent in META_CALLS
    ]


def _told(raw: str, name: str = OURS) -> list[tuple[int, bytes, dict[str, str], int]]:
    """Return status, body, headers and number of statements of all calls, in both generations."""
    told = []
    for method, params in _calls(name):
        for way in (ask, ask_modern):
            with CaptureQueriesContext(connection) as statements:
                answer = way(raw, method, params)
            body = _CALL.sub(b"call", _DEGRADED.sub(b"", answer.content))
            headers = {name: text for name, text in answer.items() if name != "Content-Length"}
            told.append((answer.status_code, body, headers, len(statements)))
    return told


def _called(raw: str) -> list[tuple[int, bytes, dict[str, str], int]]:
    """Return the same without the lists, whose descriptions contain an example name."""
    return _told(raw, "x")[2:]


def test_what_is_hidden_changes_no_answer(people: People, key: str) -> None:
    _told(key)  # fills the caches
    before = _told(key)

    for number in range(7):
        hide_something(people, Random(number))
    _told(key)

    assert _told(key) == before


def test_foreign_and_unknown_names_are_answered_alike(people: People, key: str) -> None:
    _told(key)
    foreign = _told(key, "payroll__pay")

    people.pay.delete()
    _told(key)

    assert _told(key, "payroll__pay") == foreign


def test_each_owner_is_told_of_their_own(people: People, key: str) -> None:
    stranger = new_key(
        people.finance, "discover", "execute", owner=people.charlie, acts_for_users=False
    )
    everyones = new_key(people.support, "discover", "execute")

    assert b"gmail" not in b"".join(body for _, body, _, _ in _called(stranger))
    assert b"payroll" not in b"".join(body for _, body, _, _ in _called(key))
    nameless = ask(everyones, "tools/call", {"name": "list_categories"})
    assert (nameless.status_code, nameless.json()["field"]) == (400, "user")


@pytest.mark.parametrize("loss", ["grant", "group", "active"])
def test_lost_right_is_gone_from_the_next_call(people: People, key: str, loss: str) -> None:
    _told(key)

    if loss == "grant":
        take_away(people.gmail, people.support)
    elif loss == "group":
        people.alice.groups.clear()
    else:
        type(people.alice).objects.filter(pk=people.alice.pk).update(is_active=False)

    for status, body, _, _ in _called(key):
        assert status in {200, 401, 403}
        assert b"gmail" not in body
