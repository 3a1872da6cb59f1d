"""Tasks, resources, prompts and completions of a server through Pegboard, in both generations."""

import json
import subprocess
from typing import Any
from uuid import uuid4

import pytest
from django.db.models.functions import Now

from acl.models import ApiKey
from catalog.models import Capability, Integration
from discovery.calls.approvals import approve_call
from discovery.calls.arguments import digest_of
from discovery.calls.channel import wait_for_end
from discovery.mcp.server import _change_stream, _mcp_tools, call_tasks
from discovery.mcp.server._client_side import RELATED
from discovery.models import Call, ServerRequest
from tests.access.people import People
from tests.conformance.newer_client import TASKS, ask_newer, send_newer
from tests.conformance.older_client import STREAM, OlderClient, Stream
from tests.factories import UserFactory, give, take_away
from tests.mcp.asking import ENVELOPE, MODERN, ask, ask_modern, send
from tests.mcp.conftest import key_of
from tests.mcp.node_client import FOLDER, NODE, SDK
from tests.web.conftest import new_key

pytestmark = pytest.mark.processes

PATH, LONG = "/mcp/reference-legacy", 60
older_server_alone = pytest.mark.parametrize("generation", ["legacy"])
newer_server_alone = pytest.mark.parametrize("generation", ["modern"])


class TaskClient(OlderClient):
    """Client of 2025-11-25 for tasks."""

    def ask(self, method: str, **params: Any) -> Any:
        return self.post({"id": 9, "method": method, "params": params})

    def result(self, method: str, **params: Any) -> Any:
        answered = self.ask(method, **params).json()
        assert "result" in answered, answered
        return answered["result"]

    def error(self, method: str, **params: Any) -> int:
        return int(self.ask(method, **params).json()["error"]["code"])

    def begin(self, tool: str, **arguments: Any) -> Any:
        return self.result("tools/call", name=tool, arguments=arguments, task={"ttl": 1})["task"]


@older_server_alone
def test_client_from_npm_calls_polls_cancels_and_lists_tasks(behind: str, people: People) -> None:
    if not SDK.is_dir():
        pytest.skip("npm could not fetch its client: run `make install-tests` with a registry")

    done = subprocess.run(  # noqa: S603 - our own script
        [NODE, FOLDER / "tasks.mjs", f"{behind}/reference-legacy", key_of(people)],
        capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["capability"] == {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    assert ["test_slow", "optional"] in told["support"]
    kinds = [one["type"] for one in told["messages"]]
    assert (kinds[0], kinds[-1]) == ("taskCreated", "result")
    assert told["messages"][-1]["result"]["content"][0]["text"] == "It took its time."
    assert told["cancelled"]["status"] == "cancelled"
    assert [one["status"] for one in told["listed"]] == ["cancelled", "completed"]


@older_server_alone
@pytest.mark.usefixtures("behind")
def test_task_is_a_view_of_a_call_for_its_caller_alone(people: People) -> None:
    client = TaskClient(key_of(people), PATH)
    begun = client.begin("test_slow", seconds=1)
    call = Call.objects.get(pk=begun["taskId"])

    told, end = Stream(client.ask("tasks/result", taskId=begun["taskId"])).rest()
    waited = end["result"]
    again = client.result("tasks/result", taskId=begun["taskId"])
    read = client.result("tasks/get", taskId=begun["taskId"])

    assert (begun["status"], begun["pollInterval"]) == ("working", 1_000)
    assert begun["ttl"] == 30 * 24 * 3600 * 1000  # not what was asked for, but what is true
    assert waited["content"][0]["text"] == "It took its time."
    assert told["method"] == "notifications/tasks/status"
    assert (told["params"]["taskId"], told["params"]["status"]) == (str(call.pk), "completed")
    assert waited["_meta"] == {RELATED: {"taskId": str(call.pk)}}
    assert again == waited
    assert (read["status"], "statusMessage" in read) == ("completed", False)
    strangers = new_key(people.support, "execute", owner=people.bob, acts_for_users=False)
    other = TaskClient(strangers, PATH)
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        assert other.error(method, taskId=str(call.pk)) == -32602
    assert other.result("tasks/list") == {"tasks": []}
    assert TaskClient(key_of(people), PATH).result("tasks/list") == {"tasks": []}  # another key
    whole = TaskClient(client.key, "/mcp")
    assert whole.result("tasks/get", taskId=str(call.pk)) == read
    Integration.objects.filter(slug="reference-legacy").update(enabled=False)
    assert whole.error("tasks/get", taskId=str(call.pk)) == -32602  # as with the tool itself
    assert whole.result("tasks/list") == {"tasks": []}


@older_server_alone
@pytest.mark.usefixtures("behind")
def test_failed_cancelled_and_unknown_tasks(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = TaskClient(key_of(people), PATH)
    failing = client.begin("test_error_handling")["taskId"]
    wait_for_end(Call.objects.get(pk=failing), LONG)
    long = client.begin("test_slow", seconds=LONG)["taskId"]

    stopped = client.result("tasks/cancel", taskId=long)

    assert client.result("tasks/get", taskId=failing)["status"] == "failed"
    assert client.result("tasks/result", taskId=failing)["isError"]
    assert stopped["status"] == "cancelled"
    assert "The client cancelled the call" in stopped["statusMessage"]
    assert client.error("tasks/cancel", taskId=long) == -32602  # it has ended
    assert client.result("tasks/result", taskId=long)["isError"]
    wrong: Any
    for wrong in (str(uuid4()), "x", "", None, 7, {}):
        assert client.error("tasks/get", taskId=wrong) == -32602
    call: Any = {"arguments": {}, "task": {}}
    assert client.error("tools/call", name="nothing", **call) == -32602
    assert (
        client.error("tools/call", name="test_slow", task={}, arguments={"seconds": "x"}) == -32602
    )
    assert TaskClient(client.key, "/mcp").error("tools/call", name="search_tools", **call) == -32601
    assert client.error("tasks/update", taskId=long) == -32601
    # One page after the other.
    monkeypatch.setattr(call_tasks, "PAGE", 1)
    first = client.result("tasks/list")
    second = client.result("tasks/list", cursor=first["nextCursor"])
    assert [one["taskId"] for one in (*first["tasks"], *second["tasks"])] == [long, failing]
    assert "nextCursor" not in second
    assert client.error("tasks/list", cursor="2026-11-26 x") == -32602
    # Earlier versions have no tasks.
    client.headers["MCP-Protocol-Version"] = "2025-06-18"
    assert client.error("tasks/get", taskId=long) == -32601
    plain = client.result("tools/call", name="test_simple_text", arguments={}, task={})
    assert plain["content"]


@older_server_alone
@pytest.mark.usefixtures("behind")
def test_task_waits_for_the_person_who_approves(people: People) -> None:
    Capability.objects.filter(full_name__contains="simple_text").update(ai_access="propose")
    root = UserFactory.create(username="root", is_staff=True, is_superuser=True)
    client = TaskClient(key_of(people), PATH)

    begun = client.begin("test_simple_text")

    assert (begun["status"], begun["pollInterval"]) == ("working", 5_000)
    assert "approv" in begun["statusMessage"]
    call = Call.objects.get(pk=begun["taskId"])
    assert call.state == "waiting_approval"
    approve_call(by=root, call=call, digest=digest_of(call))
    wait_for_end(call, LONG)
    assert client.result("tasks/get", taskId=begun["taskId"])["status"] == "completed"


@newer_server_alone
@pytest.mark.usefixtures("behind")
def test_newer_client_gets_a_task_where_a_call_takes_long(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = key_of(people)
    slow: dict[str, Any] = {"name": "test_slow", "arguments": {"seconds": 1}}

    monkeypatch.setattr(_mcp_tools, "TASK_AFTER_SECONDS", LONG)
    quick = ask_newer(key, "tools/call", name="test_simple_text", arguments={})["result"]
    monkeypatch.setattr(_mcp_tools, "TASK_AFTER_SECONDS", 0)
    task = ask_newer(key, "tools/call", **slow)["result"]
    plain = ask_newer(key, "tools/call", ENVELOPE, **slow)["result"]
    wait_for_end(Call.objects.get(pk=task["taskId"]), LONG)
    done = ask_newer(key, "tasks/get", taskId=task["taskId"])["result"]

    assert (quick["resultType"], "taskId" in quick) == ("complete", False)
    assert (task["resultType"], task["status"]) == ("task", "working")
    assert plain["content"][0]["text"] == "It took its time."  # who announces nothing gets no task
    assert (done["resultType"], done["status"]) == ("complete", "completed")
    assert done["result"]["content"][0]["text"] == "It took its time."
    gated = ask_newer(key, "tasks/get", ENVELOPE, taskId=task["taskId"])["error"]
    assert gated["code"] == -32021
    assert gated["data"] == {"requiredCapabilities": {"extensions": {TASKS: {}}}}
    assert ask_newer(key, "tasks/get", named="x", taskId=task["taskId"])["error"]["code"] == -32020
    assert ask_newer(key, "tasks/get", taskId="x")["error"]["code"] == -32602
    assert ask_newer(key, "tasks/list")["error"]["code"] == -32601
    slow["arguments"] = {"seconds": LONG}
    long = ask_newer(key, "tools/call", **slow)["result"]["taskId"]
    acknowledged = ask_newer(key, "tasks/cancel", taskId=long)["result"]
    assert acknowledged["resultType"] == "complete"
    assert "taskId" not in acknowledged
    assert ask_newer(key, "tasks/get", taskId=long)["result"]["status"] == "cancelled"


@newer_server_alone
@pytest.mark.usefixtures("behind")
def test_task_asks_takes_answers_one_by_one_and_goes_on(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_mcp_tools, "TASK_AFTER_SECONDS", 0)
    key = key_of(people)
    asked: Any = {"name": "test_input_required_result_multi_round", "arguments": {}}
    able: Any = {"extensions": {TASKS: {}}, "elicitation": {}, "sampling": {}, "roots": {}}
    meta = {**ENVELOPE, "io.modelcontextprotocol/clientCapabilities": able}

    def ended(task: str) -> Any:
        wait_for_end(Call.objects.latest("created_at"), LONG)
        return ask_newer(key, "tasks/get", meta, taskId=task)["result"]

    def answer(task: str, **answers: Any) -> None:
        accepted = {name: {"action": "accept", "content": one} for name, one in answers.items()}
        told = ask_newer(key, "tasks/update", meta, taskId=task, inputResponses=accepted)
        assert told["result"]["resultType"] == "complete", told

    task = ask_newer(key, "tools/call", meta, **asked)["result"]["taskId"]
    first = ended(task)
    answer(task, unknown={})
    answer(task, step1={"name": "Alice"})
    second = ended(task)
    answer(task, step2={"color": "blue"})
    done = ended(task)

    assert (first["status"], list(first["inputRequests"])) == ("input_required", ["step1"])
    assert "requestState" not in first
    assert (second["status"], list(second["inputRequests"])) == ("input_required", ["step2"])
    assert second["taskId"] == task
    assert (done["status"], done["taskId"]) == ("completed", task)
    assert done["result"]["content"][0]["text"] == "Both steps are done."
    assert Call.objects.count() == 3
    asked["name"] = "test_input_required_result_multiple_inputs"
    other = ask_newer(key, "tools/call", meta, **asked)["result"]["taskId"]
    assert list(ended(other)["inputRequests"]) == ["user_name", "greeting", "client_roots"]
    answer(other, user_name={"name": "Bob"})
    assert list(ended(other)["inputRequests"]) == ["greeting", "client_roots"]
    assert ask_newer(key, "tasks/update", meta, taskId=other)["error"]["code"] == -32602
    assert ask_newer(key, "tasks/cancel", meta, taskId=other)["result"]["resultType"] == "complete"
    assert ended(other)["status"] == "cancelled"
    assert "inputRequests" not in ended(other)


@older_server_alone
@pytest.mark.usefixtures("behind")
def test_older_server_asks_a_client_of_its_generation_about_its_task(people: People) -> None:
    client = TaskClient(key_of(people), "/mcp", elicitation={})
    strangers = new_key(people.support, "execute", owner=people.bob, acts_for_users=False)
    task = client.begin("reference-legacy__test_elicitation", message="Who is it?")["taskId"]

    lost = Stream(client.ask("tasks/result", taskId=task))
    first = lost.next()
    polls = [client.ask("tasks/get", taskId=task) for _ in range(4)]
    lost.response.close()
    waiting = Stream(client.ask("tasks/result", taskId=task))
    question = waiting.next()
    OlderClient(strangers, "/mcp").answer(question, result={"action": "decline"})
    person = {"username": "alice", "email": "a@example.com"}
    client.answer(question, result={"action": "accept", "content": person})
    told, end = waiting.rest()

    plain, polled = polls[:2] + polls[3:], polls[2].content.decode()
    assert [one.json()["result"]["status"] for one in plain] == ["input_required"] * 3
    assert polled.count("event: message") == 2  # once, for who only polls
    assert f'"id":"{first["id"]}"' in polled
    assert question == first  # asked once more: the stream was lost
    assert question["params"]["message"] == "Reference Legacy: Who is it?"
    assert question["params"]["_meta"] == {RELATED: {"taskId": task}}
    assert told["params"]["status"] == "completed"
    assert "action=accept" in end["result"]["content"][0]["text"]


@older_server_alone
@pytest.mark.usefixtures("behind")
def test_newer_client_hears_of_its_task_and_answers_an_older_server(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_mcp_tools, "TASK_AFTER_SECONDS", 0)
    monkeypatch.setattr(_change_stream, "_SILENCE_SECONDS", 0.05)
    key, path = key_of(people), PATH
    able: Any = {"extensions": {TASKS: {}}, "elicitation": {}}
    meta = {**ENVELOPE, "io.modelcontextprotocol/clientCapabilities": able}
    strangers = new_key(people.support, "execute", owner=people.bob, acts_for_users=False)
    asked: Any = {"name": "test_elicitation", "arguments": {"message": "Who is it?"}}
    task = ask_newer(key, "tools/call", meta, path=path, **asked)["result"]["taskId"]

    def listen(raw: str) -> Stream:
        heard = {"taskIds": [task, str(uuid4()), 7]}
        method = "subscriptions/listen"
        return Stream(send_newer(raw, method, meta, "", path, STREAM, notifications=heard))

    def next_of(stream: Stream, status: str) -> Any:
        while (told := stream.next())["params"]["status"] != status:
            assert told["method"] == "notifications/tasks"
        return told["params"]

    foreign = listen(strangers)
    nothing = foreign.next()["params"]["notifications"]
    foreign.response.close()
    stream = listen(key)
    agreed = stream.next()["params"]["notifications"]
    waiting = next_of(stream, "input_required")
    [(name, question)] = waiting["inputRequests"].items()
    answer = {name: {"action": "decline"}, "unknown": {}}
    ask_newer(key, "tasks/update", meta, path=path, taskId=task, inputResponses=answer)
    done = next_of(stream, "completed")
    monkeypatch.setattr(_change_stream, "_LOOK_SECONDS", 0.0)
    ApiKey.objects.filter(owner=people.alice).update(revoked_at=Now())
    rest = stream.rest()

    assert (nothing, agreed) == ({}, {"taskIds": [task]})
    assert question["method"] == "elicitation/create"
    assert question["params"]["message"] == "Who is it?"
    assert "decline" in json.dumps(done["result"])
    assert [one for one in rest if "method" in one] == []  # the key's end is the stream's
    assert Call.objects.get().questions[0]["state"] == "declined"


of_older = pytest.mark.parametrize("generation", ["legacy"])
of_newer = pytest.mark.parametrize("generation", ["modern"])
REQUEST_PATH = "/mcp/reference-legacy"
READ: dict[str, Any] = {"uri": "test://static-text"}


def _result(people: People, method: str, params: dict[str, Any] | None = None) -> Any:
    return ask(key_of(people), method, params, path=REQUEST_PATH).json()["result"]


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
    missing = ask(
        key_of(people), "resources/read", {"uri": "test://none"}, path=REQUEST_PATH
    ).json()

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

    read = ask(key_of(people), "resources/read", READ, path=REQUEST_PATH).json()
    announced = ask(key_of(people), "resources/list", path=REQUEST_PATH).json()

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
