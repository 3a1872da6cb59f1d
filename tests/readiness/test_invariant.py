"""Comparison of all surfaces with the calls that follow, in random worlds."""

import json
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import transaction
from django.test import Client, override_settings
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from acl.rights.caller import Caller
from catalog.access.grant_matrix import MatrixWindow, access_matrix
from catalog.access.integration_readiness import ADMIN_LABELS
from catalog.access.my_tools import ToolFilters, find_my_tool, list_my_tools
from catalog.models import Capability
from marketplace.integrations.integration_list import (
    IntegrationFilters,
    list_integrations,
    rows_of,
)
from tests.factories import GroupFactory, UserFactory
from tests.readiness.random_states import POLICIES, ToolState, store

# What the first answer of a call is, for each state. A failing server is tried: it may be back.
OUTCOMES = {
    "ready": {"completed", "running"},
    "asks_first": {"approval_needed"},
    "needs_you": {"failed"},
    "needs_admin": {"failed", "not found"},
    "failing": {"running", "approval_needed"},
    "described_only": {"client_executes"},
}
TOOLS = 8


@pytest.mark.django_db
# A found world is told as it is: shrinking takes minutes.
@settings(max_examples=12, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_every_surface_says_what_a_call_does(seed: int) -> None:
    random = Random(seed)
    policy = random.choice(list(POLICIES))
    states = [ToolState.random(random) for _ in range(TOOLS)]

    with _policy(policy), transaction.atomic():
        said, outcomes = _ask_all(states, staff=random.random() < 0.5)
        transaction.set_rollback(True)

    matrix = said.pop("matrix")
    for number, state in enumerate(states):
        assert matrix[number] == state.for_nobody().expected(policy), (state, policy)
        expected = state.expected(policy)
        told = {where: answers[number] for where, answers in said.items() if number in answers}
        assert set(told.values()) == {expected}, (state, policy, told)
        assert outcomes[number] in OUTCOMES[expected], (state, policy, outcomes[number])
        assert (outcomes[number] == "approval_needed") == (
            expected in {"asks_first", "failing"} and state.asks(policy)
        )


def _policy(policy: str) -> override_settings:
    return override_settings(PEGBOARD_APPROVE=policy, PEGBOARD_CALL_WAIT_SECONDS=0)


def _ask_all(
    states: list[ToolState], *, staff: bool
) -> tuple[dict[str, dict[int, str]], dict[int, str]]:
    """Return the state of each tool by surface, and the first answer of its call.

    Alice is staff in half of the worlds: she is sent to other pages.
    """
    group = GroupFactory.create(name="Support")
    alice = UserFactory.create(username="alice", groups=[group], is_staff=staff)
    rows = store(states, alice, UserFactory.create(username="bob", groups=[group]), group)
    client = Client()
    client.force_login(alice)
    caller = Caller(alice.pk, group.pk)
    said = {
        "select": _by_select(client, rows, group),
        "lists": _by_lists(client),
        "single": _by_single(client, rows),
        "explain": _by_explain(client, rows),
        "my tools": _by_my_tools(caller),
        "tool page": _by_tool_page(caller, rows),
        "registry": _by_registry(client),
        "matrix": _by_matrix(),
    }
    return said, {number: _call(client, row) for number, row in enumerate(rows)}


def _by_select(client: Client, rows: list[Capability], group: Group) -> dict[int, str]:
    """Ask for each by its name: what cannot be called is not offered at all."""
    found: dict[int, str] = {}
    for number, row in enumerate(rows):
        answer = _post(client, "select", {"message": row.full_name})
        shown = {one["full_name"]: one for one in answer["selected"]}
        if answer["direct"]:
            direct = shown[answer["direct"]]
            assert direct["readiness"] in {"ready", "described_only"}
            assert direct["side_effect"] == "read"
        if row.full_name in shown:
            one = shown[row.full_name]
            found[number] = one["readiness"]
            offered = {"ready", "asks_first", "described_only"}
            assert one["available"] == (one["readiness"] in offered)
            assert bool(one["readiness_reason"]) == (one["readiness"] != "ready")
            assert one["readiness"] not in {"needs_you", "needs_admin"}
            _follow(client, one)
            if one["readiness"] == "asks_first":
                assert one["access"] == "asks first"
        elif row.available:
            found[number] = _hidden_state(client, row)
            assert found[number] in {"needs_you", "needs_admin"}
    return found


def _hidden_state(client: Client, row: Capability) -> str:
    body = {"message": row.full_name, "only_available": False}
    answer = _post(client, "select", body)
    [one] = [one for one in answer["selected"] if one["full_name"] == row.full_name] or [{}]
    return str(one.get("readiness", client.get(_path(row)).json()["readiness"]))


def _by_lists(client: Client) -> dict[int, str]:
    answer = client.get("/api/v1/capabilities", {"limit": 50}).json()
    return {_number(one["full_name"]): one["readiness"] for one in answer["items"]}


def _by_single(client: Client, rows: list[Capability]) -> dict[int, str]:
    answers = {number: client.get(_path(row)) for number, row in enumerate(rows)}
    found = {n: one.json() for n, one in answers.items() if one.status_code == 200}
    for answer in found.values():
        _follow(client, answer)
    return {number: answer["readiness"] for number, answer in found.items()}


def _follow(client: Client, answer: dict[str, Any]) -> None:
    """Check that the link leads to a page that this caller may open, and that its absence is due
    to a state that needs nobody, or only admins."""
    state, path = answer["readiness"], answer.get("mend_path", "")
    assert bool(answer.get("readiness_reason")) == (state != "ready")
    if path:
        assert client.get(path).status_code == 200, (state, path)
    assert (state in {"needs_you", "needs_admin"}) <= bool(path)
    assert bool(path) <= (state in {"needs_you", "needs_admin", "failing"})


def _by_explain(client: Client, rows: list[Capability]) -> dict[int, str]:
    asked = ({"capability": row.full_name, "user": "alice"} for row in rows)
    answers = [client.get("/api/v1/access/explain", each).json() for each in asked]
    return {number: answer["readiness"] for number, answer in enumerate(answers)}


def _by_my_tools(caller: Caller) -> dict[int, str]:
    shown = list_my_tools(caller=caller, wanted=ToolFilters()).tools
    found = {_number(one.capability.full_name): one.readiness.state.value for one in shown}
    for show, states in (("runs", {"ready", "described_only"}), ("asks", {"asks_first"})):
        filtered = list_my_tools(caller=caller, wanted=ToolFilters(show=show)).tools
        names = {_number(one.capability.full_name) for one in filtered}
        assert names == {number for number, state in found.items() if state in states}
    return found


def _by_tool_page(caller: Caller, rows: list[Capability]) -> dict[int, str]:
    found = {}
    for number, row in enumerate(rows):
        mine = find_my_tool(caller=caller, full_name=row.full_name)
        assert mine is not None
        found[number] = mine.readiness.state.value
    return found


def _by_registry(client: Client) -> dict[int, str]:
    servers = client.get("/v0.1/servers").json()["servers"]
    found = {}
    for one in servers:
        told = one["_meta"]["pegboard/readiness"]
        assert told["tools"] == {told["readiness"]: 1}
        _follow(client, told)
        found[int(one["server"]["name"].rpartition("-")[2])] = told["readiness"]
    return found


def _by_matrix() -> dict[int, str]:
    """Return the states that admins see, of people without secrets and accounts of their own."""
    rows = access_matrix(MatrixWindow()).rows
    listed = {
        row.integration.slug: row for row in rows_of(list(list_integrations(IntegrationFilters())))
    }
    found = {}
    for row in rows:
        assert row.standing is not None
        slug, state = row.integration.slug, row.standing.readiness.state
        assert listed[slug].tool_states == f"{ADMIN_LABELS[state]}: 1"
        found[int(slug.rpartition("-")[2])] = state.value
    return found


def _call(client: Client, row: Capability) -> str:
    body = {"name": row.full_name, "arguments": {}}
    response = client.post("/api/v1/execute", json.dumps(body), content_type="application/json")
    return "not found" if response.status_code == 404 else str(response.json()["status"])


def _post(client: Client, path: str, body: dict[str, Any]) -> Any:
    return client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json").json()


def _path(row: Capability) -> str:
    return f"/api/v1/capabilities/{row.full_name}"


def _number(full_name: str) -> int:
    return int(full_name.rpartition("_")[2])
