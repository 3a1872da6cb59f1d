"""Keys for several groups: who asks, what they get, and what is recorded.

alice works in support, which has gmail, and in finance, which has payroll; bob only in support.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from acl.keys.lifecycle import create_key, holder_of
from acl.models import ApiKey, Space
from catalog.models import Capability, Rule
from discovery.models import Call, Turn
from tests.access.people import People
from tests.factories import GroupFactory, lay_down
from tests.web.conftest import client_with

JSON = "application/json"
SCOPES = ["select", "discover", "execute"]


@pytest.fixture
def everywhere(people: People) -> People:
    people.alice.groups.add(people.finance)
    return people


def key_for(*groups: Group, **options: Any) -> Client:
    """Return a backend's client; without groups its key covers all groups of the users."""
    about = {"scopes": SCOPES, "acts_for_users": True, "all_groups": not groups, **options}
    return client_with(create_key(by=None, name="backend", groups=groups, **about)[1])


def looked_up(client: Client, **asked: str) -> set[str]:
    answer = client.get("/api/v1/capabilities", {"limit": "50", **asked})
    assert answer.status_code == 200, answer.content
    return {item["full_name"] for item in answer.json()["items"]}


BOTH = {"gmail__send_email", "gmail__search", "wiki__read_page", "payroll__pay"}


def test_without_a_group_all_of_the_persons_groups_answer_together(everywhere: People) -> None:
    client = key_for(everywhere.support, everywhere.finance)

    assert looked_up(client, user="alice") == BOTH
    assert looked_up(client, user="alice", group="finance") == {"payroll__pay"}
    assert looked_up(client, user="bob") == BOTH - {"payroll__pay"}


def test_a_key_for_all_groups_needs_to_know_of_none(everywhere: People) -> None:
    client = key_for()
    before = looked_up(client, user="charlie")

    everywhere.support.user_set.add(everywhere.charlie)

    assert before == {"payroll__pay"}
    assert looked_up(client, user="charlie") == BOTH


def test_a_group_that_the_key_does_not_cover_gives_nothing(everywhere: People) -> None:
    client = key_for(everywhere.support, GroupFactory.create(name="other"))

    assert looked_up(client, user="alice") == BOTH - {"payroll__pay"}
    refused = client.get("/api/v1/capabilities", {"user": "alice", "group": "finance"})
    assert refused.status_code == 403


WAYS: dict[str, Callable[[Client], set[str]]] = {
    "select": lambda c: _names(_post(c, "select", message="pay, and send an email"), "selected"),
    "plan": lambda c: _names(_post(c, "plan", message="pay, and send an email"), "selected"),
    "names": lambda c: set(c.get("/api/v1/capabilities/names", {"user": "alice"}).json()["names"]),
}


def _post(client: Client, call: str, **body: Any) -> dict[str, Any]:
    answer = client.post(f"/api/v1/{call}", {"user": "alice", **body}, JSON)
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def _names(answer: dict[str, Any], field: str) -> set[str]:
    return {item["full_name"] for item in answer[field]}


@pytest.mark.parametrize("way", ["select", "plan"])
def test_every_way_to_choose_knows_all_groups(everywhere: People, way: str) -> None:
    client = key_for(everywhere.support, everywhere.finance)

    found = WAYS[way](client)

    assert {"payroll__pay", "gmail__send_email"} <= found


def test_counts_and_trees_are_of_all_groups(everywhere: People) -> None:
    client = key_for()

    stats = client.get("/api/v1/stats", {"user": "alice"}).json()
    tree = client.get("/api/v1/tree", {"user": "alice"}).json()

    assert stats["capabilities"] == len(BOTH)
    assert "payroll" in str(tree)
    assert "gmail" in str(tree)


def test_a_selection_costs_as_many_statements_as_in_one_group(everywhere: People) -> None:
    one, two = key_for(everywhere.support), key_for(everywhere.support, everywhere.finance)
    body = {"message": "send an email", "user": "alice"}

    counts = []
    for client in (one, two):
        client.post("/api/v1/select", body, JSON)
        with CaptureQueriesContext(connection) as statements:
            assert client.post("/api/v1/select", body, JSON).status_code == 200
        counts.append(len(statements))

    assert counts[0] == counts[1]


def test_a_deny_in_the_space_asked_for_holds_for_every_group(everywhere: People) -> None:
    root = Space.objects.get(group=everywhere.support, parent=None)
    night = Space.objects.create(group=everywhere.support, parent=root, name="Night", slug="night")
    lay_down(Rule.Effect.DENY, everywhere.payroll, night)
    client = key_for(everywhere.support, everywhere.finance)

    assert looked_up(client, user="alice") == BOTH
    assert looked_up(client, user="alice", space="night") == BOTH - {"payroll__pay"}
    refused = client.post(
        "/api/v1/execute",
        {"user": "alice", "space": "night", "name": "payroll__pay", "arguments": {}},
        JSON,
    )
    assert refused.status_code == 404


def test_a_space_that_several_groups_have_wants_its_group(everywhere: People) -> None:
    client = key_for(everywhere.support, everywhere.finance)

    answer = client.get("/api/v1/capabilities", {"user": "alice", "space": "root"})

    assert (answer.status_code, answer.json()["field"]) == (400, "group")
    assert looked_up(client, user="bob", space="root") == BOTH - {"payroll__pay"}


def test_a_call_belongs_to_the_group_that_gives_the_tool(everywhere: People) -> None:
    everywhere.pay.ai_access = "propose"
    Capability.objects.filter(pk=everywhere.pay.pk).update(ai_access="propose")
    client = key_for(everywhere.support, everywhere.finance)
    body = {"user": "alice", "name": "payroll__pay", "arguments": {}}

    first = client.post("/api/v1/execute", body, JSON, headers={"Idempotency-Key": "once"})
    again = client.post("/api/v1/execute", body, JSON, headers={"Idempotency-Key": "once"})

    call = Call.objects.get()
    assert (first.status_code, again.status_code) == (202, 202)
    assert call.group == everywhere.finance
    of_support, of_finance = (
        client_with(create_key(by=None, name="a", group=group, scopes=["admin"])[1])
        for group in (everywhere.support, everywhere.finance)
    )
    assert of_support.get("/api/v1/approvals").json()["total"] == 0
    assert of_finance.get("/api/v1/approvals").json()["total"] == 1


def test_a_turn_keeps_all_groups_it_was_asked_in(everywhere: People) -> None:
    client = key_for()

    turn_id = _post(client, "select", message="pay someone")["turn_id"]

    turn = Turn.objects.get(pk=turn_id)
    assert turn.group == everywhere.finance  # the first by name
    assert turn.other_groups == [everywhere.support.pk]
    told = client.get(f"/api/v1/turns/{turn_id}")
    assert told.status_code == 200
    assert "payroll__pay" in str(told.json())


def test_an_owner_who_leaves_one_group_leaves_the_key_the_others(everywhere: People) -> None:
    _, raw = create_key(
        by=None, name="own", groups=[everywhere.support, everywhere.finance], scopes=SCOPES,
        owner=everywhere.alice,
    )  # fmt: skip

    everywhere.support.user_set.remove(everywhere.alice)
    left = holder_of(raw)
    everywhere.finance.user_set.remove(everywhere.alice)

    assert left is not None
    assert left.group_ids == frozenset({everywhere.finance.pk})
    assert holder_of(raw) is None


def test_a_group_that_is_deleted_leaves_the_key_the_others(everywhere: People) -> None:
    _, raw = create_key(
        by=None, name="own", groups=[everywhere.support, everywhere.finance], scopes=SCOPES,
        acts_for_users=True,
    )  # fmt: skip

    everywhere.finance.delete()

    holder = holder_of(raw)
    assert holder is not None
    assert holder.group_ids == frozenset({everywhere.support.pk})


def test_an_admin_key_of_several_groups_says_which_one_it_means(everywhere: People) -> None:
    client = key_for(everywhere.support, everywhere.finance, scopes=["admin"], acts_for_users=False)

    unsaid = client.get("/api/v1/outcomes/alerts")
    said = client.get("/api/v1/outcomes/alerts", {"group": "finance"})

    assert (unsaid.status_code, unsaid.json().get("field")) == (400, "group")
    assert said.status_code == 200


def test_a_key_tells_its_groups(everywhere: People) -> None:
    client = key_for(everywhere.support, everywhere.finance, scopes=["admin"], acts_for_users=False)

    [own] = client.get("/api/v1/keys").json()

    assert (own["group"], own["groups"], own["all_groups"]) == (
        "finance", ["finance", "support"], False,
    )  # fmt: skip
    assert ApiKey.objects.get().scope_of_groups == "finance, support"


def test_a_models_tools_know_all_groups_too(everywhere: People) -> None:
    client = key_for(everywhere.support, everywhere.finance)

    found = client.post(
        "/api/v1/meta/tool_discovery__list_all", {"user": "alice", "arguments": {}}, JSON
    )

    assert found.status_code == 200, found.content
    assert all(name in found.content.decode() for name in BOTH)
