"""Resources, prompts and completions of a server through Pegboard: rights, the gate, the record."""

from typing import Any

import pytest

from catalog.models import Capability
from discovery.models import Call, ServerRequest
from tests.access.people import People
from tests.factories import give, take_away
from tests.mcp.asking import ENVELOPE, MODERN, ask, ask_modern, send
from tests.mcp.conftest import key_of

pytestmark = pytest.mark.processes
of_older = pytest.mark.parametrize("generation", ["legacy"])
of_newer = pytest.mark.parametrize("generation", ["modern"])
PATH = "/mcp/reference-legacy"
READ: dict[str, Any] = {"uri": "test://static-text"}


def _result(people: People, method: str, params: dict[str, Any] | None = None) -> Any:
    return ask(key_of(people), method, params, path=PATH).json()["result"]


@of_older
@pytest.mark.usefixtures("behind")
def test_server_is_passed_through_and_recorded(people: People) -> None:
    announced = _result(
        people,
        "initialize",
        {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "a", "version": "1"},
        },
    )["capabilities"]
    contents = _result(people, "resources/read", READ)["contents"]
    missing = ask(key_of(people), "resources/read", {"uri": "test://none"}, path=PATH).json()

    assert {"tools", "resources", "prompts", "completions"} <= set(announced)
    assert contents[0]["text"] == "This is the content of the static text resource."
    assert missing["error"]["code"] == -32002
    assert missing["error"]["data"] == {"uri": "test://none"}
    record = ServerRequest.objects.get(target=READ["uri"])
    assert (record.user, record.method, record.state) == (
        people.alice,
        "resources/read",
        "completed",
    )
    assert not record.result_json  # delivered, and not kept


@of_older
@pytest.mark.usefixtures("behind")
def test_speaking_description_is_left_out_of_the_list(people: People) -> None:
    names = [prompt["name"] for prompt in _result(people, "prompts/list")["prompts"]]

    assert "test_simple_prompt" in names
    assert "test_speaking_prompt" not in names


@of_older
@pytest.mark.usefixtures("behind")
def test_tool_of_ones_own_opens_no_resource(people: People) -> None:
    """Give with a grant of one tool that tool, and nothing else of its server."""
    tool = Capability.objects.filter(integration__slug="reference-legacy").first()
    assert tool is not None
    take_away(tool.integration, people.support)
    give(tool, people.support)

    read = ask(key_of(people), "resources/read", READ, path=PATH).json()
    announced = ask(key_of(people), "resources/list", path=PATH).json()

    assert read["error"]["code"] == announced["error"]["code"] == -32601
    assert not ServerRequest.objects.exists()


@of_newer
@pytest.mark.usefixtures("behind")
def test_server_asks_before_it_goes_on(people: People) -> None:
    """The client of a call is asked, and calls again with the answer, which is not kept."""
    key, path = key_of(people), "/mcp/reference-modern"
    asking = {"name": "test_input_required_result_elicitation", "arguments": {}}
    envelope = {**ENVELOPE, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    answers = {"user_name": {"action": "accept", "content": {"name": "Alice"}}}

    asked = _call(key, {**asking, "_meta": envelope}, path)
    gone_on = _call(key, {**asking, "_meta": envelope, "inputResponses": answers}, path)
    unasked = _call(key, {**asking, "_meta": ENVELOPE}, path)

    assert asked["resultType"] == "input_required"
    assert asked["inputRequests"]["user_name"]["method"] == "elicitation/create"
    assert gone_on["content"][0]["text"] == "Hello, Alice!"
    assert unasked["isError"]
    assert not Call.objects.exclude(dialogue=None).exists()


@of_newer
@pytest.mark.usefixtures("behind")
def test_error_of_the_server_keeps_its_code(people: People) -> None:
    key, path = key_of(people), "/mcp/reference-modern"
    params = {"name": "test_missing_capability", "arguments": {}, "_meta": ENVELOPE}
    uri = "test://none"

    response = _send(key, params, path)
    missing = ask_modern(key, "resources/read", {"uri": uri}, {"Mcp-Name": uri}, path)

    assert response.status_code == 400
    assert response.json()["error"]["code"] == -32021
    assert response.json()["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}
    assert missing.json()["error"]["code"] == -32602  # the older generation's is another


def _call(key: str, params: dict[str, Any], path: str) -> Any:
    return _send(key, params, path).json()["result"]


def _send(key: str, params: dict[str, Any], path: str) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/call",
        "Mcp-Name": params["name"],
    }
    return send(key, message, headers, path)
