"""Calls by REST, MCP, meta-tools and pages, and their effect on turns."""

import json
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from pytest_django.fixtures import Settings

from acl.keys.lifecycle import create_key
from catalog.models import Capability, Integration
from catalog.servers.client.server_problems import LABELS, Reason, label_problem
from discovery.calls.execution import NotFoundError
from discovery.calls.state import LABELS as CALL_LABELS
from discovery.calls.state import LEFT_QUEUE, label_reason
from discovery.mcp.answers.dispatch import call_meta_tool
from discovery.models import Call, Turn
from discovery.turns.outcomes import report_outcome
from tests.access.people import People
from tests.calls.conftest import Tool
from tests.calls.worker import run_call
from tests.connections.addresses import evil_server, fine_server
from tests.factories import CapabilityFactory, IntegrationFactory, give, take_away
from tests.web.conftest import client_with, new_key

HELLO = {"text": "hello"}
KIND = "application/json"


@pytest.fixture
def key(people: People) -> str:
    return new_key(people.support, "execute")


def answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finish the call as a worker before anyone waits for it."""
    from discovery.calls import execution

    def wait(call: Call, seconds: float) -> Call:
        run_call(call.pk)
        return Call.objects.get(pk=call.pk)

    monkeypatch.setattr(execution, "wait_for_end", wait)


def test_call_by_rest_until_it_ends(people: People, tool: Tool, key: str) -> None:
    client, name = client_with(key), tool().full_name
    body = {"user": "alice", "name": name, "arguments": HELLO}

    begun = client.post("/api/v1/execute", body, KIND)
    early = client.get(begun["Location"])
    run_call(begun.json()["call_id"])
    done = client.get(begun["Location"], {"wait": 5})
    late = client.post(f"{begun['Location']}/cancel", {}, KIND)
    second = client.post("/api/v1/execute", body, KIND)
    back = client.post(f"{second['Location']}/cancel", {}, KIND)
    stranger = client_with(new_key(people.finance, "execute")).get(begun["Location"])

    assert (begun.status_code, early.status_code, begun.json()["status"]) == (202, 202, "running")
    assert (done.status_code, done.json()["result"]["content"][0]["text"]) == (200, "1: hello")
    assert (late.status_code, back.status_code, back.json()["status"]) == (409, 200, "cancelled")
    assert stranger.status_code == 404
    assert client.get(begun["Location"], {"wait": 61}).status_code == 400


def test_each_change_of_a_call_is_sent_until_it_ends(
    people: People, tool: Tool, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discovery.calls.channel._LISTEN_SECONDS", 0.01)
    client, body = client_with(key), {"user": "alice", "name": tool().full_name, "arguments": HELLO}
    place = client.post("/api/v1/execute", body, KIND)["Location"]
    stranger = client_with(new_key(people.finance, "execute")).get(f"{place}/events")

    answer = client.get(f"{place}/events")
    stream = iter(answer)
    first = next(stream)
    run_call(UUID(place.rpartition("/")[2]))
    rest = [one.decode() for one in stream]

    assert answer["Content-Type"] == "text/event-stream"
    assert first.startswith(b'event: state\ndata: {"status": "running"')
    assert ["completed" in one and "1: hello" in one for one in rest] == [True]
    assert client.get(f"{place}/events", {"wait": 61}).status_code == 400
    assert stranger.status_code == 404


def test_stream_ends_when_the_right_or_the_time_does(people: People, tool: Tool, key: str) -> None:
    client, one = client_with(key), tool()
    body = {"user": "alice", "name": one.full_name, "arguments": HELLO}
    place = client.post("/api/v1/execute", body, KIND)["Location"]

    briefly = list(client.get(f"{place}/events", {"wait": 0}))
    stream = iter(client.get(f"{place}/events"))
    next(stream)
    take_away(one.integration, people.support)
    run_call(UUID(place.rpartition("/")[2]))

    assert len(briefly) == 1
    assert list(stream) == []


def test_result_comes_by_mcp_as_the_blocks_that_it_is(
    people: People, tool: Tool, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(monkeypatch)
    _, own = create_key(
        by=None, name="own", group=people.support, scopes=["execute"], owner=people.alice
    )
    call: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "execute_tool",
            "arguments": {"name": tool().full_name, "arguments": HELLO},
        },
    }

    fine = client_with(own).post("/mcp", call, KIND).json()["result"]
    call["params"]["arguments"]["name"] = tool("crash").full_name
    crashed = client_with(own).post("/mcp", call, KIND).json()["result"]

    assert fine["content"][1] == {"type": "text", "text": "1: hello"}
    assert "hello" not in fine["content"][0]["text"]
    assert fine["structuredContent"]["status"] == "completed"
    assert (crashed["isError"], crashed["structuredContent"]["status"]) == (True, "unknown")


def test_direct_call_has_its_servers_answer_and_nothing_around_it(
    people: People, tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(monkeypatch)
    owner: dict[str, Any] = {"owner": people.alice, "acts_for_users": False}
    client = client_with(new_key(people.support, "execute", **owner))

    def sent(path: str, name: str) -> dict[str, Any]:
        params = {"name": name, "arguments": HELLO}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        result: dict[str, Any] = client.post(path, call, KIND).json()["result"]
        return result

    fine = tool()
    for path, name in (("/mcp", fine.full_name), (f"/mcp/{fine.integration.slug}", "echo")):
        answer = sent(path, name)

        assert [block["text"].split(": ")[1] for block in answer["content"]] == ["hello"]
        assert not answer["isError"]
    crashed = sent("/mcp", tool("crash").full_name)
    assert crashed["isError"]
    assert "hello" not in crashed["content"][0]["text"]


def test_model_asks_what_came_of_its_own_call_that_waited(people: People, tool: Tool) -> None:
    begun = call_meta_tool(
        caller=people.caller,
        name="execute_tool",
        arguments={"name": tool().full_name, "arguments": HELLO},
    )
    asked: dict[str, Any] = {"name": "get_call", "arguments": {"call_id": begun["call_id"]}}
    bob = replace(people.caller, user_id=people.bob.pk)

    early = call_meta_tool(caller=people.caller, **asked)
    run_call(UUID(begun["call_id"]))
    done = call_meta_tool(caller=people.caller, **asked)

    assert (early["status"], done["status"]) == ("running", "completed")
    assert done["result"]["content"][0]["text"] == "1: hello"
    with pytest.raises(NotFoundError) as foreign:
        call_meta_tool(caller=bob, **asked)
    asked["arguments"]["call_id"] = str(UUID(int=1))
    with pytest.raises(NotFoundError) as unknown:
        call_meta_tool(caller=bob, **asked)
    assert str(foreign.value).replace(begun["call_id"], asked["arguments"]["call_id"]) == str(
        unknown.value
    )


def test_turn_knows_what_was_called_in_it(people: People, tool: Tool) -> None:
    turn = Turn.objects.create(user=people.alice, group=people.support)
    foreign = Turn.objects.create(user=people.bob, group=people.support)
    name = tool().full_name
    arguments = {"name": name, "arguments": HELLO}
    for each in (turn, foreign):
        call_meta_tool(
            caller=people.caller, name="execute_tool", arguments=arguments, turn_id=each.pk
        )

    reported = [report_outcome(turn=each, called=[]) for each in (turn, foreign)]

    assert [[call.full_name for call in each.called] for each in reported] == [[name], []]


def test_no_credential_reaches_a_server_that_is_not_its_own(
    people: People, key: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    from catalog.servers.secrets.store import set_secret

    answered(monkeypatch)
    with fine_server() as address, evil_server() as other:
        port = address.split(":")[2].split("/")[0]
        settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (
            ("127.0.0.1", int(port)),
            ("127.0.0.1", other.server_port),
        )
        for slug, endpoint in (("a", address), ("b", f"http://127.0.0.1:{other.server_port}/")):
            server = IntegrationFactory.create(
                slug=slug, transport="http", endpoint=endpoint, required_secrets=["TOKEN"]
            )
            set_secret(integration=server, name="TOKEN", value=f"token-of-{slug}", by=people.alice)
            give(server, people.support)
            CapabilityFactory.create(
                integration=server, action="headers" if slug == "a" else "echo"
            )
        client = client_with(key)
        client.cookies["sessionid"] = "canary-cookie"

        answers = [
            client.post("/api/v1/execute", {"user": "alice", "name": name, "arguments": {}}, KIND)
            for name in ("a__headers", "b__echo")
        ]
        seen = json.dumps([answers[0].json(), [headers for _, headers in other.asked]])

    told = answers[0].json()
    assert told["status"] == "completed"
    assert "[hidden]" in told["result"]["content"][0]["text"]  # the server repeated its own token
    assert "Bearer token-of-b" in seen
    assert "token-of-a" not in seen
    assert key not in seen
    assert "canary-cookie" not in seen
    rows = str(list(Call.objects.values()))
    assert not any(secret in rows for secret in ("token-of", key, "canary"))


def test_server_that_is_not_connected_is_asked_nothing(people: People, tool: Tool) -> None:
    capability: Capability = tool()
    Integration.objects.update(connection="disconnected")

    done = call_meta_tool(
        caller=people.caller,
        name="execute_tool",
        arguments={"name": capability.full_name, "arguments": HELLO},
    )

    assert (done["status"], done["reason"]) == ("failed", "disconnected")


def test_every_reason_has_a_label() -> None:
    assert LABELS.keys() == set(Reason)
    assert LEFT_QUEUE.keys() <= CALL_LABELS.keys() | set(Reason)


def test_no_label_is_a_code() -> None:
    assert label_reason("sign_in_needed") == "Sign-in needed"
    assert label_reason("tool_error") == "Error of the tool"
    assert label_problem("of_another_release") == "Of another release"
