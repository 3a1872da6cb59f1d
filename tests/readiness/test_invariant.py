"""Comparison of all surfaces with the calls that follow, in random worlds."""

import json
from random import Random
from typing import Any

import pytest
from django.db import transaction
from django.test import override_settings
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from catalog.models import Capability
from tests.examples import EXAMPLES_OF_PAGES
from tests.factories import GroupFactory, UserFactory
from tests.mcp.asking import call as call_by_mcp
from tests.readiness import surfaces
from tests.readiness.random_states import POLICIES, TRUSTED, ToolState, store
from tests.readiness.surfaces import NEEDING, Said, World, brief, runs_at_pegboard

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
WAYS = ("REST", "execute_tool", "mcp__call_tool", "execute_tool over MCP")


@pytest.mark.django_db
# A found world is told as it is: shrinking takes minutes.
@settings(max_examples=EXAMPLES_OF_PAGES, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_every_surface_says_what_a_call_does(seed: int) -> None:
    random = Random(seed)
    policy = random.choice(list(POLICIES))
    states = [ToolState.random(random, number) for number in range(TOOLS)]
    way = random.choice(WAYS)

    with _policy(policy), transaction.atomic():
        world = _store_world(states, staff=random.random() < 0.5)
        _compare(world, states, policy)
        outcomes = {number: _call(world, row, way) for number, row in enumerate(world.rows)}
        transaction.set_rollback(True)

    for number, state in enumerate(states):
        expected = state.expected(policy)
        assert outcomes[number] in OUTCOMES[expected], (state, policy, way, outcomes[number])
        assert (outcomes[number] == "approval_needed") == (
            expected in {"asks_first", "failing"} and state.asks(policy)
        )


def _policy(policy: str) -> override_settings:
    return override_settings(
        PEGBOARD_APPROVE=policy, PEGBOARD_TRUSTED_SERVERS=TRUSTED, PEGBOARD_CALL_WAIT_SECONDS=0
    )


def _store_world(states: list[ToolState], *, staff: bool) -> World:
    """Store a world. Alice is staff in half of the worlds: she is sent to other pages."""
    group = GroupFactory.create(name="Support")
    alice = UserFactory.create(username="alice", groups=[group], is_staff=staff)
    rows = store(states, alice, UserFactory.create(username="bob", groups=[group]), group)
    return surfaces.open_world(group, alice, rows)


def _compare(world: World, states: list[ToolState], policy: str) -> None:
    """Compare each surface with the expected states of all tools that it may tell of."""
    all_states: Said = {number: one.expected(policy) for number, one in enumerate(states)}
    usable = {n: state for n, state in all_states.items() if world.rows[n].available}
    connected = {n: one for n, one in usable.items() if states[n].connection != "disconnected"}
    offered = surfaces.without(NEEDING, usable)
    served = {n: one for n, one in usable.items() if runs_at_pegboard(world.rows[n])}
    servers = {n: one for n, one in usable.items() if states[n].is_remote}
    # A prompt can mark that a tool asks first or is failing, and a verdict whether it works.
    marks = {
        n: brief(one, "asks first" if states[n].asks(policy) else "runs")
        for n, one in offered.items()
    }
    verdicts = {
        n: "stopped" if one in {*NEEDING, "failing"} else one for n, one in all_states.items()
    }
    # Admins are told of people without secrets, accounts and rules of their own.
    of_nobody = {n: one.for_nobody().expected(policy) for n, one in enumerate(states)}
    expected = {
        "every": all_states,
        "usable": usable,
        "connected": connected,
        "offered": offered,
        "carried out here": {n: one for n, one in offered.items() if n in served},
        "listed": surfaces.without({*NEEDING, "failing"}, served),
        "served": served,
        "servers": servers,
        "marks": marks,
        "verdicts": verdicts,
        "of nobody": of_nobody,
    }
    for surface, tells in surfaces.SURFACES.items():
        said = surface(world)
        assert said == expected[tells], (surface.__name__, policy, said, expected[tells])


def _call(world: World, row: Capability, way: str) -> str:
    """Call the tool, and return the first answer."""
    arguments: dict[str, Any] = {"name": row.full_name, "arguments": {}}
    if way == "execute_tool over MCP":
        answer = call_by_mcp(world.key, "execute_tool", **arguments)
        return _status(answer.get("structuredContent"))
    if way == "mcp__call_tool" and row.integration.transport:
        by_server = {"server_name": row.integration.slug, "tool_name": row.action, "arguments": {}}
        return _status(_post(world, "meta/mcp__call_tool", {"arguments": by_server}))
    if way == "execute_tool":
        return _status(_post(world, "meta/execute_tool", {"arguments": arguments}))
    return _status(_post(world, "execute", arguments))


def _post(world: World, path: str, body: dict[str, Any]) -> Any:
    answer = world.client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")
    if answer.status_code == 404:
        return None
    told = answer.json()
    return told["result"] if path.startswith("meta/") else told


def _status(answer: Any) -> str:
    return str(answer["status"]) if answer else "not found"
