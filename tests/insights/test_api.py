"""The tool use API: the same figures as the page, limited by rights."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.access.people import People
from tests.factories import give, take_away
from tests.insights.conftest import NOW, SEARCH, SEND
from tests.insights.downloads import client_of, table
from tests.web.conftest import client_with, new_key

pytestmark = pytest.mark.usefixtures("in_the_story")


def told(client: Client, **more: str) -> dict[str, Any]:
    since = {"since": (NOW - timedelta(days=6)).isoformat()}
    response = client.get("/api/v1/figures/tools", {**since, **more})
    assert response.status_code == 200, response.content
    body: dict[str, Any] = response.json()
    return body


def names(rows: list[dict[str, str]]) -> list[str]:
    return [row["full_name"] for row in rows]


def test_api_and_page_tell_the_same_of_tools(days: People, root: User) -> None:
    staff = client_of(root)

    body = told(staff, group="support")

    file = table(staff, "called", "?group=support")
    assert names(body["called"]) == names(file) == [SEARCH, SEND]
    assert [str(row["times"]) for row in body["called"]] == [row["turns"] for row in file]
    assert names(body["never"]) == names(table(staff, "never_called", "?group=support"))
    assert (body["called_count"], body["lost_turns"]) == (2, 1)


def test_key_is_told_of_tools_that_its_group_has(days: People) -> None:
    support = client_with(new_key(days.support, "admin"))
    give(days.send, days.alice)  # her own, not the group's

    assert names(told(support)["called"]) == [SEARCH, SEND]
    take_away(days.gmail, days.support)
    body = told(support)

    assert names(body["called"]) == []
    assert names(body["never"]) == ["wiki__read_page"]
    assert "payroll" not in str(body)
    assert client_with(new_key(days.support)).get("/api/v1/figures/tools").status_code == 403
