"""Insights and their API as admins and as other people see them."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from discovery.models import Call, OutcomeAlert
from tests.access.people import People
from tests.factories import give, take_away, waiting_call
from tests.insights.conftest import NOW, SEARCH, SEND, happen
from tests.insights.downloads import table
from tests.sessions import session_of
from tests.web.conftest import client_with, new_key

pytestmark = pytest.mark.usefixtures("in_the_story")

PAGES = ("/insights/", "/insights/outcomes/", "/insights/tools/")


def text_of(client: Client, path: str, status: int = 200) -> str:
    response = client.get(path)
    assert response.status_code == status, response.content
    return " ".join(re.sub(r"<[^>]*>", " ", response.content.decode()).split())


def test_page_file_and_api_tell_the_same(days: People, root: User) -> None:
    client = session_of(root)
    since = "2026-02-26T00:00:00Z"

    told = client.get("/api/v1/figures", {"since": since, "until": NOW.isoformat()}).json()
    page = text_of(client, "/insights/")

    assert "5 turns since 26 February, 00:00 UTC" in page
    assert told["counts"]["turns"] == 5
    assert told["before"]["counts"]["turns"] == 1
    for name, measure, words in [
        ("tokens_saved", "tokens_saved", "60 % on target Target: at least 60 %"),
        ("called_among_selected", "called_among_selected", "75 % target missed"),
        ("discovery_used", "discovery_used", "20 % target missed"),
        ("discovery_empty", "discovery_empty", "50 % target missed"),
        ("added_latency_ms", "added_latency", "20 ms median no slower previous 7 days: 20 ms"),
    ]:
        assert words in page
        days_told = {day["day"]: day["figures"][name]["value"] for day in told["days"]}
        in_file = {row["at"][:10]: row[name] for row in table(client, measure)}
        assert len(in_file) == 7
        assert {day: float(value) for day, value in in_file.items() if value} == {
            day: value for day, value in days_told.items() if value is not None
        }
    groups = table(client, "groups")
    assert [(row["group"], row["turns"], row["failed"]) for row in groups] == [
        ("finance", "1", "0"),
        ("support", "4", "1"),
    ]


def test_admin_chooses_time_and_group(days: People, root: User) -> None:
    client = session_of(root)

    assert "4 turns since" in text_of(client, "/insights/?period=24h")
    assert "3 turns since" in text_of(client, "/insights/?period=24h&group=support")
    assert "6 turns since" in text_of(client, "/insights/?period=30d&group=none+of+them")
    part = client.get("/insights/?period=24h", headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert len(table(client, "tokens_saved", "?period=24h")) == 24


def test_person_sees_their_own_turns_and_tools_only(days: People, root: User) -> None:
    waiting_call(days.bob, days.support, days.send, "x")
    Call.objects.update(state="rejected", ended_at=NOW - timedelta(hours=1))
    alice, charlie = session_of(days.alice), session_of(days.charlie)

    assert "3 turns since" in text_of(alice, "/insights/?group=finance")
    assert "By group" not in text_of(alice, "/insights/")
    assert "Failed or" not in text_of(alice, "/insights/tools/")
    assert table(alice, "troubled_calls") == []
    assert [row["full_name"] for row in table(alice, "called")] == [SEARCH, SEND]
    for path in (*PAGES[::2], "/insights/csv/called/", "/insights/csv/never_called/"):
        response = charlie.get(path)
        body = b"".join(response) if response.streaming else response.content
        assert b"gmail" not in body
    for hidden in ("/insights/outcomes/", "/insights/csv/groups/", "/insights/csv/windows/"):
        assert alice.get(hidden).status_code == 404
    days.support.user_set.remove(days.alice)
    assert "You are not in a group yet" in text_of(alice, "/insights/")


def test_admin_sees_what_is_used_and_what_is_not(days: People, root: User) -> None:
    waiting_call(days.alice, days.support, days.send, "x")
    Call.objects.update(
        state="rejected", ended_at=NOW - timedelta(hours=1), flow={"verdict": "asks"}
    )
    client = session_of(root)

    assert table(client, "called", "?group=support") == [
        {"full_name": SEARCH, "turns": "2", "selected": "0", "failed_turns": "0",
         "last_at": "2026-03-04T10:30:00+00:00"},
        {"full_name": SEND, "turns": "2", "selected": "2", "failed_turns": "0",
         "last_at": "2026-03-04T11:30:00+00:00"},
    ]  # fmt: skip
    never = [row["full_name"] for row in table(client, "never_called", "?group=support")]
    assert never == ["wiki__read_page"]  # without the page that the group was not granted
    assert table(client, "troubled_calls") == [
        {
            "full_name": SEND,
            "calls": "1",
            "failed": "0",
            "refused": "1",
            "flow_asked": "1",
            "most_often": "",
        }
    ]
    happen(days, 1, selected=[["tool:wiki__read_page", 0.5]])
    assert table(client, "selected_in_vain") == [{"full_name": "wiki__read_page", "selected": "1"}]
    assert "1 of 3 tools that the group may use" in text_of(
        client, "/insights/tools/?group=support"
    )


def test_message_is_shown_only_where_it_was_kept(days: People, root: User) -> None:
    happen(days, 1, discovery_calls=1, discovery_empty=1)
    client = session_of(root)

    page = text_of(client, "/insights/tools/")

    assert "2 turns in which selection failed or found nothing" in page
    assert "my secret wish" in page  # stored while the setting was on
    assert "This deployment does not keep messages" in page
    with override_settings(PEGBOARD_KEEP_MESSAGES=True):
        assert "Messages are shown" in text_of(client, "/insights/tools/")
    assert "my secret wish" not in text_of(session_of(days.bob), "/insights/tools/")


def test_windows_of_everyone_each_group_and_each_place(days: People, root: User) -> None:
    about: dict[str, Any] = {"severity": "critical", "threshold": 0.55, "value": 0.2, "samples": 8}
    for group in (days.support, days.finance):
        reason = f"=bad in {group.name}"
        just = NOW - timedelta(hours=1)
        OutcomeAlert.objects.create(scope="x", group=group, at=just, reason=reason, **about)
        OutcomeAlert.objects.create(
            scope="x", at=NOW.replace(month=1), reason="of January", **about
        )
    client = session_of(root)

    windows = table(client, "windows")

    told = ("scope", "group", "samples", "weighted_rate")
    assert [tuple(row[name] for name in told) for row in windows] == [
        ("global", "", "6", str(4.5 / 6)),
        ("group", "support", "5", "0.7"),
        ("group", "finance", "1", "1.0"),
        ("space", "support", "5", "0.7"),
        ("space", "finance", "1", "1.0"),
    ]
    page = text_of(client, "/insights/outcomes/?group=support")
    assert "bad in support" in page
    assert "bad in finance" not in page
    assert "of January" not in page
    assert [row["reason"] for row in table(client, "alerts", "?group=finance")] == [
        "'=bad in finance"
    ]


def test_number_of_statements_does_not_grow(days: People, root: User) -> None:
    counts: list[list[int]] = []
    for rows in (0, 20):
        for number in range(rows):
            happen(days, number, SEND, SEARCH, discovery_calls=1, discovery_empty=1)
        client, person = session_of(root), session_of(days.alice)
        asked = [(client, path) for path in PAGES] + [(person, path) for path in PAGES[::2]]
        counts.append([_statements(who, path) for who, path in asked])

    assert counts[0] == counts[1]
    assert max(counts[0]) <= 15


def _statements(client: Client, path: str) -> int:
    with CaptureQueriesContext(connection) as statements:
        assert client.get(path).status_code == 200
    return len(statements)


def test_whoever_has_no_turn_is_told_what_to_do(people: People, root: User) -> None:
    assert "Create a key" in text_of(session_of(root), "/insights/")
    assert "Try a message" in text_of(session_of(people.alice), "/insights/tools/")
    assert "No outcomes reported yet" in text_of(session_of(root), "/insights/outcomes/")
    happen(people, 20 * 24)
    assert "No turns in this period" in text_of(session_of(people.alice), "/insights/")
    assert "The group finance has no turns yet" in text_of(
        session_of(root), "/insights/?group=finance"
    )


def test_page_is_light_and_strict(days: People, root: User) -> None:
    response = session_of(root).get("/insights/")
    text = response.content.decode()

    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=", text)
    assert "unsafe" not in response["Content-Security-Policy"]
    names = re.findall(r'(?:src|href)="/static/([^"#]+\.(?:css|js))"', text)
    assert "pegboard/insights.css" in names
    assert text.count("<svg xmlns") == 5


def told(client: Client, **more: str) -> dict[str, Any]:
    since = {"since": (NOW - timedelta(days=6)).isoformat()}
    response = client.get("/api/v1/figures/tools", {**since, **more})
    assert response.status_code == 200, response.content
    body: dict[str, Any] = response.json()
    return body


def names(rows: list[dict[str, str]]) -> list[str]:
    return [row["full_name"] for row in rows]


def test_api_and_page_tell_the_same_of_tools(days: People, root: User) -> None:
    staff = session_of(root)

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
