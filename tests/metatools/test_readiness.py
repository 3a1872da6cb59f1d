"""Rows of meta-tools say what a call would do, as briefly as models are told."""

from typing import Any

import pytest

from catalog.models import Capability, Integration
from tests.access.people import People
from tests.metatools.conftest import Call

HTTP = {"transport": "http", "endpoint": "https://mail.example/mcp"}
FAILING = {"readiness": "failing", "note": "Its server is failing."}
SECRET = {"readiness": "needs_you", "note": "It needs a secret from you."}


@pytest.mark.parametrize(
    ("server", "told"),
    [
        (HTTP, {}),
        ({**HTTP, "connection": "failing"}, FAILING),
        ({**HTTP, "required_secrets": ["KEY"], "own_secrets": True}, SECRET),
        ({}, {"readiness": "described_only"}),
    ],
)
def test_row_has_the_state_where_access_does_not_tell_it(
    people: People, call: Call, server: dict[str, Any], told: dict[str, str]
) -> None:
    Integration.objects.filter(pk=people.gmail.pk).update(**server)
    Capability.objects.filter(pk=people.send.pk).update(kind="tool", effect_confidence=1.0)

    listed = call("browse_category", category="communication")["tools"]
    found = call("search_tools", query="gmail__send_email")["tools"]

    for rows in (listed, found):
        [row] = [row for row in rows if row["name"] == "gmail__send_email"]
        assert {key: row[key] for key in ("readiness", "note") if key in row} == told


def test_what_needs_someone_is_found_after_what_works(people: People, call: Call) -> None:
    Integration.objects.filter(pk=people.gmail.pk).update(**HTTP, required_secrets=["KEY"])

    found = call("search_tools", query="gmail__send_email, wiki__read_page")["tools"]

    names = [row["name"] for row in found]
    assert names.index("wiki__read_page") < names.index("gmail__send_email")
