"""Clients that hear of changes without a call: resources of a server, and their own lists."""

from typing import Any

import pytest

from catalog.models import Capability
from discovery.calls.server_requests import watches
from discovery.calls.server_requests.watches import server_watches
from discovery.mcp.server import _change_stream
from discovery.models import ServerRequest
from tests.access.people import People
from tests.conformance.older_client import STREAM, OlderClient, Stream, listen
from tests.factories import take_away
from tests.mcp.asking import ENVELOPE, MODERN, send
from tests.mcp.conftest import key_of

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("behind")]
LEGACY, NEWER = "/mcp/reference-legacy", "/mcp/reference-modern"
WATCHED, OTHER = "test://watched-resource", "test://static-text"
UPDATED = "notifications/resources/updated"
older_server_alone = pytest.mark.parametrize("generation", ["legacy"])
newer_server_alone = pytest.mark.parametrize("generation", ["modern"])


@pytest.fixture(autouse=True)
def _look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at lists in every silence: how long that takes is not what is tested."""
    monkeypatch.setattr(_change_stream, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(_change_stream, "_SILENCE_SECONDS", 0.05)


@older_server_alone
def test_older_client_hears_of_what_it_subscribed_to(people: People) -> None:
    client = OlderClient(key_of(people), LEGACY)

    unknown = _ask(client, "resources/subscribe", "test://none")
    subscribed = _ask(client, "resources/subscribe", WATCHED)
    stream = Stream(listen(client))
    client.post(_call("test_touch_watched"))
    heard = stream.next()
    again = _ask(client, "resources/subscribe", OTHER)
    gone = _ask(client, "resources/unsubscribe", WATCHED)
    count = client.post(_call("test_touch_watched")).json()["result"]["content"][0]["text"]
    _ask(client, "resources/subscribe", WATCHED)
    stream.response.close()
    for _ in range(3):  # nobody listens meanwhile
        client.post(_call("test_touch_watched"))
    watches._pushing.submit(int).result()
    stream = Stream(listen(client))
    missed = stream.next()
    tools = Capability.objects.filter(integration__slug="reference-legacy")
    tools.filter(action="test_slow").update(available=False)
    changed = stream.next()
    stream.response.close()

    assert unknown["error"]["code"] == -32002
    assert subscribed["result"] == again["result"] == gone["result"] == {}
    assert (heard["method"], heard["params"]) == (UPDATED, {"uri": WATCHED})
    assert missed == heard
    assert changed["method"] == "notifications/tools/list_changed"  # and not the same once more
    assert count == "Watched: 1"  # the other one: the server knows what nobody watches any more
    record = ServerRequest.objects.filter(method="resources/subscribe", target=WATCHED).earliest(
        "created_at"
    )
    assert (record.user, record.state) == (people.alice, "completed")


@newer_server_alone
def test_newer_client_hears_of_what_it_named(people: People) -> None:
    wanted = {"resourceSubscriptions": [WATCHED], "promptsListChanged": True}

    stream = Stream(_listen(key_of(people), wanted))
    acknowledged = stream.next()
    _call_newer(key_of(people), "test_touch_watched")
    updated = stream.next()
    _call_newer(key_of(people), "test_trigger_tool_change")
    _call_newer(key_of(people), "test_trigger_prompt_change")
    changed = stream.next()
    stream.response.close()
    at_all = Stream(_listen(key_of(people), {**wanted, "toolsListChanged": True}, "/mcp"))
    honoured = at_all.next()["params"]["notifications"]
    at_all.response.close()

    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert acknowledged["params"]["notifications"] == wanted
    assert (updated["method"], updated["params"]["uri"]) == (UPDATED, WATCHED)
    assert changed["method"] == "notifications/prompts/list_changed"
    for message in (acknowledged, updated, changed):
        assert message["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": 5}
    assert honoured == {"toolsListChanged": True}  # the whole catalogue is listed, not watched


@older_server_alone
def test_rights_and_limits_of_listening(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watches, "MOST_RESOURCES", 1)
    monkeypatch.setattr(watches, "MOST_OF_ONE", 1)
    first, second = (OlderClient(key_of(people), LEGACY) for _ in range(2))
    integration = Capability.objects.filter(integration__slug="reference-legacy")[0].integration

    _ask(first, "resources/subscribe", WATCHED)
    too_many = _ask(first, "resources/subscribe", OTHER)
    _ask(second, "resources/subscribe", WATCHED)  # which takes the first session's place
    ended = Stream(listen(first))
    _ask(second, "resources/subscribe", WATCHED)
    told = ended.rest()
    streams = [listen(second) for _ in range(4)]
    without = listen(OlderClient(key_of(people), "/mcp"))
    take_away(integration, people.support)
    server_watches.tend()
    rest = Stream(streams[0]).rest()
    refused = _ask(second, "resources/subscribe", WATCHED)
    closed = listen(second)
    for stream in streams:
        stream.close()

    assert too_many["error"]["code"] == -32602
    assert told == []
    assert [stream.status_code for stream in streams] == [200, 200, 200, 429]
    assert without.status_code == 405
    assert UPDATED not in {message["method"] for message in rest}  # the stream has ended
    assert refused is None  # a 404, like one that does not exist
    assert closed.status_code == 404


def _ask(client: OlderClient, method: str, uri: str) -> Any:
    response = client.post({"id": 3, "method": method, "params": {"uri": uri}})
    return response.json() if response.status_code == 200 else None


def _call(tool: str) -> dict[str, Any]:
    return {"id": 4, "method": "tools/call", "params": {"name": tool, "arguments": {}}}


def _call_newer(key: str, tool: str) -> None:
    params = {"name": tool, "arguments": {}, "_meta": ENVELOPE}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": tool}
    answer = send(key, {"jsonrpc": "2.0", **_call(tool), "params": params}, headers, NEWER)
    assert "result" in answer.json(), answer.json()


def _listen(key: str, wanted: dict[str, Any], path: str = NEWER) -> Any:
    params = {"notifications": wanted, "_meta": ENVELOPE}
    message = {"jsonrpc": "2.0", "id": 5, "method": "subscriptions/listen", "params": params}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "subscriptions/listen", **STREAM}
    return send(key, message, headers, path)
