"""Lists and results that are almost as MCP has them: what is sound is read, the rest is named."""

import asyncio
import gzip
import json
import random
import zlib
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from catalog.formats.descriptors import IntegrationDescriptor
from catalog.servers.client._readable_json import make_readable, read_line
from catalog.servers.client.mcp_session import Session, ToolResult, Tools
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import HttpServer
from catalog.trust.tool_list import read_tool
from tests.connections.http_limits import LOOPBACK, QUICK
from tests.connections.scripted import TOOL, Message, Reply, ScriptedServer, result, scripted_server
from tests.examples import EXAMPLES

SERVER = IntegrationDescriptor(slug="shop", kind="mcp", title="Shop")
# Everything that a value may be instead of what the protocol has in its place.
ODD: tuple[Any, ...] = (None, True, False, 0, -1, 1.5, "", "text", [], [1], {}, {"a": None})
FIELDS = ("description", "title", "inputSchema", "outputSchema", "annotations", "icons", "_meta")


def ask(server: ScriptedServer, request: Callable[[Session], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        session = Session(HttpServer(server.url), limits=QUICK, allowed=LOOPBACK)
        try:
            await session.open()
            return await request(session)
        finally:
            await session.close()

    return asyncio.run(run())


def list_tools(*tools: Any) -> Tools:
    with scripted_server() as server:
        server.tools = list(tools)
        listed: Tools = ask(server, lambda session: session.tools())
    return listed


def call(content: Any) -> ToolResult:
    def script(server: ScriptedServer, message: Message) -> Reply | None:
        return result(message, content) if message.get("method") == "tools/call" else None

    with scripted_server(script) as server:
        answer: ToolResult = ask(server, lambda session: session.call("echo", {}))
    return answer


def texts(answer: ToolResult) -> list[str]:
    return [block["text"] for block in answer.content if block["type"] == "text"]


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_sound_tools_are_listed_whatever_the_others_are(seed: int) -> None:
    chance = random.Random(seed)
    mutants: list[Any] = [chance.choice(ODD) for _ in range(5)]
    for number in range(40):
        field = chance.choice(("name", *FIELDS))
        mutant = {**TOOL, "name": f"mutant_{number}", field: chance.choice(ODD)}
        if chance.random() < 0.2:
            del mutant[chance.choice([*mutant])]
        mutants.append(mutant)
    sound = [{**TOOL, "name": f"sound_{number}"} for number in range(5)]
    tools = [*mutants, *sound]
    chance.shuffle(tools)

    listed = list_tools(*tools)

    offered = {tool["name"]: read_tool(SERVER, tool) for tool in listed.tools}
    assert {tool["name"] for tool in sound} <= {
        name for name, one in offered.items() if one.descriptor and not one.defects
    }
    named = {defect.tool for defect in listed.defects}
    for index, tool in enumerate(tools):
        name = tool.get("name") if isinstance(tool, dict) else None
        is_named = isinstance(name, str) and bool(name.strip())
        read = offered.get(name.strip()) if is_named else None  # type: ignore[union-attr]
        # Each tool is read, or named with a reason; many are both.
        assert (read and read.descriptor) or (read and read.defects) or f"tools[{index}]" in named
    assert all(defect.reason for defect in listed.defects)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        None,
        {"type": "string"},
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"type": "object", "properties": None, "required": None},
        {"type": ["object", "null"]},
        {"type": "object", "properties": {"a": {"type": "text"}}},
    ],
)
def test_harmless_schema_is_read_as_an_object(schema: Any) -> None:
    listed = list_tools({**TOOL, "name": "draft", "inputSchema": schema}, TOOL)

    assert [tool["name"] for tool in listed.tools] == ["draft", "echo"]
    draft = read_tool(SERVER, listed.tools[0]).descriptor
    assert draft is not None
    assert (draft.input_schema or {}).get("type", "object") in ("object", ["object", "null"])


def test_field_that_cannot_be_read_costs_only_itself() -> None:
    wrong = {**TOOL, "outputSchema": {"properties": {}}, "annotations": "none", "title": 5}

    listed = list_tools(wrong)

    assert listed.tools == [TOOL]
    assert {(defect.tool, defect.field) for defect in listed.defects} == {
        ("echo", f"echo.{field}") for field in ("outputSchema", "annotations", "title")
    }


def test_schema_nested_5000_deep_costs_only_its_tool() -> None:
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": ["DEEP", TOOL]}})
    body = '{"properties":{"a":' * 5_000 + "{}" + "}}" * 5_000
    tool = json.dumps({**TOOL, "name": "deep"})[:-1] + f', "x": {body}}}'
    whole = text.replace('"DEEP"', tool)

    def script(server: ScriptedServer, message: Message) -> Reply | None:
        if message.get("method") != "tools/list":
            return None
        return Reply(body=whole.replace('"id": 1', f'"id": {message["id"]}').encode())

    with scripted_server(script) as server:
        listed: Tools = ask(server, lambda session: session.tools())

    assert [tool["name"] for tool in listed.tools] == ["deep", "echo"]


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_sound_blocks_are_read_whatever_the_others_are(seed: int) -> None:
    chance = random.Random(seed)
    kinds = ("text", "image", "audio", "resource", "resource_link", "chart", "", 5, None)
    odd: list[Any] = [
        {"type": chance.choice(kinds), chance.choice(("text", "data", "uri")): chance.choice(ODD)}
        for _ in range(20)
    ]
    odd += [chance.choice(ODD) for _ in range(3)]
    sound = [{"type": "text", "text": f"sound {number}"} for number in range(5)]
    content = [*odd, *sound]
    chance.shuffle(content)

    answer = call(
        {"content": content, "structuredContent": chance.choice(ODD), "isError": chance.choice(ODD)}
    )

    assert {block["text"] for block in sound} <= set(texts(answer))
    assert len(answer.content) >= len(content)  # one for each, and perhaps the structured value


@pytest.mark.parametrize(
    "block",
    [{"type": "chart", "bars": [1]}, {"type": "image", "url": "https://a.example/b.png"}, {"a": 1}],
)
def test_unknown_block_is_told_as_it_is_beside_the_others(block: dict[str, Any]) -> None:
    long = {"type": "chart", "bars": [1] * 2_000}

    answer = call({"content": [block, long, {"type": "text", "text": "Sold 3."}]})

    unknown, left_out, sound = texts(answer)
    assert json.loads(unknown.partition("\n")[2]) == block
    assert left_out == '[Left out: a part of the answer of the unknown type "chart".]'
    assert sound == "Sold 3."


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"text": "no type"}, "no type"),
        ({"type": "text", "text": 7}, "7"),
        ({"type": "text", "text": {"a": "ß"}}, '{"a":"ß"}'),
        ({"type": "resource", "resource": {"text": "no address"}}, "no address"),
        ({"type": "resource", "uri": "file:///a", "text": "beside"}, "beside"),
        ({"type": "resource", "resource": {"uri": "a", "text": {"a": 1}}}, '{"a":1}'),
        ({"type": "text", "content": "other key"}, "other key"),
        ({"type": "markdown", "text": "# Other type"}, "# Other type"),
        ({"type": "text", "text": None}, ""),
        ([{"type": "text", "text": "in a list"}], "in a list"),
        (7, "7"),
    ],
)
def test_text_of_a_block_is_read_however_it_is_written(block: Any, text: str) -> None:
    assert texts(call({"content": [block]})) == [text]


PICTURES = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/gif": b"GIF89a",
    "image/webp": b"RIFF\x00\x00\x00\x00WEBP",
}
# How servers write the bytes of a picture, which must reach a model in the one form.
WRITTEN: dict[str, Callable[[str], dict[str, Any]]] = {
    "without its type": lambda data: {"type": "image", "data": data},
    "of another type": lambda data: {"type": "image", "data": data, "mimeType": "image/tiff"},
    "in lines": lambda data: {"type": "image", "data": f"{data[:4]}\r\n{data[4:]}\n"},
    "without its end": lambda data: {"type": "image", "data": data.rstrip("=")},
    "in a source": lambda data: {"type": "image", "source": {"type": "base64", "data": data}},
    "in an address": lambda data: {
        "type": "image_url",
        "image_url": {"url": f"data:image/png;base64,{data}"},
    },
    "as numbers": lambda data: {"type": "image", "data": list(b64decode(data))},
    "as a buffer": lambda data: {
        "type": "image",
        "data": {"type": "Buffer", "data": list(b64decode(data))},
    },
}


@pytest.mark.parametrize("form", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("mime", PICTURES)
def test_picture_has_the_type_of_its_bytes_and_plain_base64(
    form: Callable[[str], dict[str, Any]], mime: str
) -> None:
    data = b64encode(PICTURES[mime] + b"more of it").decode()

    assert call({"content": [form(data)]}).content == [
        {"type": "image", "data": data, "mimeType": mime}
    ]


def test_picture_that_is_no_base64_is_told() -> None:
    block = {"type": "image", "data": "no picture!", "mimeType": "image/png"}

    [text] = texts(call({"content": [block]}))

    assert "not base64" in text


@pytest.mark.parametrize("fields", [{"is_error": True}, {"error": "No such city"}])
def test_error_under_another_name_is_one(fields: Message) -> None:
    assert call(fields).is_error
    assert not call({"content": [], **dict.fromkeys(fields)}).is_error


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


@pytest.mark.parametrize(
    "tools",
    [
        {"draft": {"inputSchema": SCHEMA}},
        [{"name": "draft", "input_schema": SCHEMA}],
        [{"name": "draft", "parameters": SCHEMA}],
        [{"type": "function", "function": {"name": "draft", "parameters": SCHEMA}}],
    ],
)
def test_tools_in_the_form_of_a_models_api_keep_their_arguments(tools: Any) -> None:
    with scripted_server() as server:
        server.tools = tools
        listed: Tools = ask(server, lambda session: session.tools())

    [tool] = listed.tools
    assert (tool["name"], tool["inputSchema"]) == ("draft", SCHEMA)


@pytest.mark.parametrize("cursor", [1, 0, "2"])
def test_lists_go_on_at_numbers_and_end_at_nothing(cursor: Any) -> None:
    def script(server: ScriptedServer, message: Message) -> Reply | None:
        if message["method"] != "tools/list":
            return None
        is_first = "cursor" not in (message.get("params") or {})
        tool = {**TOOL, "name": "first" if is_first else "last"}
        return result(message, {"tools": [tool], "nextCursor": cursor if is_first else ""})

    with scripted_server(script) as server:
        listed: Tools = ask(server, lambda session: session.tools())

    assert [tool["name"] for tool in listed.tools] == ["first", "last"]
    assert not listed.left_out


def test_picture_in_an_address_and_a_nameless_link_are_read() -> None:
    picture = {"type": "image", "data": "data:image/png;base64,aGk="}
    link = {"type": "resource_link", "uri": "file:///a"}

    assert call({"content": [picture, link]}).content == [
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "file:///a", "name": "file:///a"},
    ]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("where", ['{"a":@}', '{"a":[1,@]}', '{"b":{"a":@}}'])
def test_number_that_is_none_in_json_costs_only_itself(number: str, where: str) -> None:
    value = where.replace("@", number)
    bodies = {
        "tools/call": f'"content":[{{"type":"text","text":"ok"}}],"structuredContent":{value}',
        "tools/list": f'"tools":[{{"name":"echo","inputSchema":{{"x":{value}}}}}]',
    }

    def script(server: ScriptedServer, message: Message) -> Reply | None:
        if (body := bodies.get(message["method"])) is None:
            return None
        whole = f'{{"jsonrpc":"2.0","id":{message["id"]},"result":{{{body}}}}}'
        return Reply(body=whole.encode())

    with scripted_server(script) as server:
        answer: ToolResult = ask(server, lambda session: session.call("echo", {}))
        listed: Tools = ask(server, lambda session: session.tools())
    line: Any = read_line(
        f'{{"jsonrpc":"2.0","id":1,"result":{{{bodies["tools/call"]}}}}}'.encode()
    )

    assert (
        answer.structured
        == json.loads(where.replace("@", "null"))
        == line.result["structuredContent"]
    )
    assert texts(answer)[0] == "ok"
    assert "not finite" in texts(answer)[1]
    assert [tool["name"] for tool in listed.tools] == ["echo"]


OPENINGS: tuple[Message, ...] = (
    {"capabilities": None, "serverInfo": None},
    {},
    {"capabilities": {"tools": None}, "serverInfo": "a name"},
    {"capabilities": {"tools": [], "prompts": [], "logging": None}, "serverInfo": {"name": "a"}},
    {"capabilities": {"tools": True, "experimental": None}, "serverInfo": {}},
    {"capabilities": {"tools": {"listChanged": None}}, "instructions": {"a": 1}, "_meta": None},
    {"serverInfo": {"name": "a", "version": 2, "title": None, "icons": "none"}},
    {"protocolVersion": 20250618},
    {"protocolVersion": "DRAFT-2025-v3"},
    {"protocolVersion": "1.0"},
    {"protocolVersion": None},
)


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("tools", [[TOOL], None])
def test_server_is_used_whatever_its_opening_lacks(opening: Message, tools: Any) -> None:
    def script(server: ScriptedServer, message: Message) -> Reply | None:
        if message["method"] != "initialize":
            return None
        return result(message, {"protocolVersion": "2025-06-18", **opening})

    with scripted_server(script) as server:
        server.tools = tools
        listed: Tools = ask(server, lambda session: session.tools())

    assert listed.tools == (tools or [])


Answers = Callable[[bytes, Message], Reply]
EVENT = b"data: %s\n\n"
STREAM = "text/event-stream"


def changed(body: bytes, **fields: Any) -> Reply:
    whole = {**json.loads(body), **fields}
    return Reply(
        body=json.dumps({key: value for key, value in whole.items() if value != ""}).encode()
    )


# How servers answer a request, beside the specification.
ANSWERS: dict[str, Answers] = {
    "type of a text": lambda body, message: Reply(body=body, kind="text/plain"),
    "no type": lambda body, message: Reply(body=body, kind=""),
    "events told to be JSON": lambda body, message: Reply(body=EVENT % body),
    "JSON told to be events": lambda body, message: Reply(body=body, kind=STREAM),
    "accepted, with the answer": lambda body, message: Reply(202, body),
    "list of one": lambda body, message: Reply(body=b"[" + body + b"]"),
    "a line each": lambda body, message: Reply(
        body=b'{"jsonrpc": "2.0", "method": "notifications/x"}\n' + body + b"\n"
    ),
    "id as a text": lambda body, message: changed(body, id=str(message["id"])),
    "id as a fraction": lambda body, message: changed(body, id=float(message["id"])),
    "no id": lambda body, message: changed(body, id=None),
    "no version": lambda body, message: changed(body, jsonrpc=""),
    "last event without its end": lambda body, message: Reply(body=b"data: " + body, kind=STREAM),
    "event of another name": lambda body, message: Reply(
        body=b"event: response\n" + EVENT % body, kind=STREAM
    ),
    "event that is no message": lambda body, message: Reply(
        body=EVENT % b"ping" + b"event: ping\ndata: 2026\n\n" + EVENT % body, kind=STREAM
    ),
    "event of several lines": lambda body, message: Reply(
        body=b"data: "
        + json.dumps(json.loads(body), indent=1).replace("\n", "\ndata: ").encode()
        + b"\n\n",
        kind=STREAM,
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", ANSWERS.values(), ids=ANSWERS)
def test_answer_is_read_in_every_form_of_it(form: Answers) -> None:
    def script(server: ScriptedServer, message: Message) -> Reply | None:
        contents: dict[str, Any] = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                           "serverInfo": {"name": "a", "version": "1"}},
            "tools/list": {"tools": [TOOL]},
            "tools/call": {"content": [{"type": "text", "text": "done"}]},
        }  # fmt: skip
        if message["method"] not in contents:
            return None
        return form(result(message, contents[message["method"]]).body, message)

    async def both(session: Session) -> Any:
        return await session.tools(), await session.call("echo", {})

    with scripted_server(script) as server:
        listed, answer = ask(server, both)

    assert listed.tools == [TOOL]
    assert texts(answer) == ["done"]


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(400, b'{"error": "missing field x"}'), 'HTTP 400. {"error": "missing field x"}'),
        (Reply(413, b"<html><h1>Too large</h1></html>", "text/html"), "HTTP 413. Too large"),
        (Reply(422, b""), "HTTP 422."),
        (Reply(200, b""), "Its answer is empty (HTTP 200)."),
        (Reply(204, b""), "Its answer is empty (HTTP 204)."),
        (
            Reply(body=b'{"id": null, "error": {"code": 1, "message": "", "data": "boom"}}'),
            '{"code":1,"message":"","data":"boom"}',
        ),
        (Reply(500, b"<p>boom</p>", "text/html"), "HTTP 500. boom"),
        (Reply(body=b'{"jsonrpc": "2.0", "id": null, "error": {"message": "boom"}}'), "boom"),
        (Reply(body=b'{"jsonrpc": "2.0", "id": null, "error": "boom"}'), "boom"),
        (Reply(body=b'{"error": {"code": "E7", "message": "boom"}}'), "boom"),
        (
            Reply(400, b'{"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "boom"}}'),
            "boom",
        ),
    ],
)
def test_refusal_says_what_the_server_says(reply: Reply, words: str) -> None:
    def script(server: ScriptedServer, message: Message) -> Reply | None:
        return reply if message["method"] == "tools/call" else None

    with scripted_server(script) as server, pytest.raises(ServerProblemError) as problem:
        ask(server, lambda session: session.call("echo", {}))

    assert (problem.value.reason, problem.value.detail) == (Reason.REFUSED, words)


@pytest.mark.parametrize("value", [[1, 2], "text", 7, True])
def test_structured_answer_that_is_no_object_is_told_as_text(value: Any) -> None:
    answer = call({"content": [{"type": "text", "text": "Sold."}], "structuredContent": value})

    assert texts(answer) == ["Sold.", json.dumps(value, separators=(",", ":"))]
    assert answer.structured is None


def test_answer_without_content_is_its_structured_value() -> None:
    assert call({"structuredContent": {"n": 7}}).structured == {"n": 7}


@pytest.mark.parametrize("is_error", [True, False])
def test_result_of_another_shape_is_told_as_it_is(is_error: bool) -> None:
    answer = call({"weather": "fine", "isError": is_error})

    assert (texts(answer), answer.is_error) == (['{"weather":"fine"}'], is_error)


@pytest.mark.parametrize("broken", [rb"\ud800", rb"\udfff", rb"\uD83D\uD83D", rb"\ude00\ud83d"])
def test_lone_surrogate_costs_only_itself(broken: bytes) -> None:
    block = b'{"type":"text","text":"before %s after \\\\ud800 \\ud83d\\ude00"}' % broken
    body = b'{"jsonrpc":"2.0","id":7,"result":{"content":[%s]}}' % block

    def script(server: ScriptedServer, message: Message) -> Reply | None:
        if message.get("method") != "tools/call":
            return None
        return Reply(body=body.replace(b'"id":7', b'"id":%d' % message["id"]))

    with scripted_server(script) as server:
        answer: ToolResult = ask(server, lambda session: session.call("echo", {}))
    line: Any = read_line(body)

    for text in (texts(answer)[0], line.result["content"][0]["text"]):
        assert text.startswith("before �")
        assert text.endswith(" after \\ud800 😀")


@pytest.mark.parametrize(
    ("kind", "charset"),
    [
        ("application/json; charset=iso-8859-1", "latin-1"),
        ("application/json; charset=windows-1252", "cp1252"),
        ("application/json; charset=UTF-16", "utf-16"),
        ("application/json;charset=no-such-charset", "utf-8"),
        ("application/json", "utf-8-sig"),
        ("text/event-stream; charset=iso-8859-1", "latin-1"),
    ],
)
@pytest.mark.parametrize("encoding", ["", "gzip", "deflate", "raw", "gzip, deflate"])
def test_answer_is_read_as_http_says(kind: str, charset: str, encoding: str) -> None:
    def script(server: ScriptedServer, message: Message) -> Reply | None:
        if message.get("method") != "tools/call":
            return None
        content = {"content": [{"type": "text", "text": "Straße"}]}
        whole = {"jsonrpc": "2.0", "id": message["id"], "result": content}
        text = json.dumps(whole, ensure_ascii=False)
        text = f"data: {text}\n\n" if "event" in kind else text
        body = text.encode(charset)
        if encoding == "raw":
            packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
            body = packer.compress(body) + packer.flush()
        for name in encoding.split(", "):
            body = gzip.compress(body) if name == "gzip" else body
            body = zlib.compress(body) if name == "deflate" else body
        headers = {"Content-Encoding": encoding.replace("raw", "deflate")} if encoding else {}
        return Reply(body=body, kind=kind, headers=headers)

    with scripted_server(script) as server:
        answer: ToolResult = ask(server, lambda session: session.call("echo", {}))

    assert texts(answer) == ["Straße"]


def test_answer_that_expands_beyond_the_limit_is_too_large() -> None:
    def script(server: ScriptedServer, message: Message) -> Reply | None:
        if message.get("method") != "tools/call":
            return None
        body = gzip.compress(b" " * 50 * QUICK.body_bytes)
        return Reply(body=body, headers={"Content-Encoding": "gzip"})

    with scripted_server(script) as server, pytest.raises(ServerProblemError) as problem:
        ask(server, lambda session: session.call("echo", {}))

    assert problem.value.reason is Reason.TOO_LARGE


@pytest.mark.parametrize("encoding", ["br", "zstd", "x-of-our-own"])
def test_compression_that_is_not_read_is_named(encoding: str) -> None:
    def script(server: ScriptedServer, message: Message) -> Reply | None:
        if message.get("method") != "tools/call":
            return None
        return Reply(body=b"x" * 10, headers={"Content-Encoding": encoding})

    with scripted_server(script) as server, pytest.raises(ServerProblemError) as problem:
        ask(server, lambda session: session.call("echo", {}))

    assert problem.value.reason is Reason.WRONG_ANSWER
    assert f"compressed ({encoding})" in problem.value.detail


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_readable_json_stays_the_same_value(seed: int) -> None:
    chance = random.Random(seed)
    letters = 'aß€😀\\"/\b\f\n\r\t\u2028[{]}'
    value = {"".join(chance.choices(letters, k=9)): "".join(chance.choices(letters, k=99))}
    depth = chance.randrange(140)
    text = "[" * depth + json.dumps(value, ensure_ascii=chance.random() < 0.5) + "]" * depth

    assert json.loads(make_readable(text.encode())) == json.loads(text)
