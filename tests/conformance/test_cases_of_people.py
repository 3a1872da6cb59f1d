"""Cases that people met with such products, read in place: what each expects holds here.

They lie beside the project, in `../shared/cases`; a clone without them has nothing to compare.
Those about formats, words and small talk are other rooms' (`tests/formats`, `tests/select`).
"""

import asyncio
import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from catalog.formats.descriptors import IntegrationDescriptor
from catalog.servers.client.mcp_session import ToolResult
from catalog.servers.client.targets import HttpServer
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.trust.tool_list import read_tool
from discovery.calls.argument_check import check_arguments
from discovery.calls.worker import serialize_result
from tests.connections.http_limits import in_pool
from tests.connections.scripted import Message, Reply, ScriptedServer, scripted_server
from tests.openapi.calls import call_operation
from tests.openapi.documents import library
from tests.openapi.mock import Answer, mock_api

Case = dict[str, Any]
HOUSE = IntegrationDescriptor(slug="house", kind="mcp", title="House")
FOLDER = Path(settings.BASE_DIR).parent / "shared" / "cases"
KINDS = {
    "a passing fault recorded as a lasting one",
    "answers for models",
    "figures without their reasons",
    "limits that cut too much",
    "load",
    "one bad part refuses the whole",
    "readiness that is not true",
    "serialisation of answers",
    "state that is lost for good",
    "state that is never renewed",
    "time",
    "wrong diagnosis",
}
CASES = {
    case["slug"]: case
    for case in (json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json")))
    if case["kind"] in KINDS
}


def answered(answer: Answer) -> tuple[str, int]:
    """Call a read of an API that answers so; return the text, and how often it was asked."""
    with mock_api(library(servers=[{"url": "/"}])) as api:
        api.answers = [answer]
        result = call_operation(api, "list_books")
        return json.dumps([*result.content, result.structured], ensure_ascii=False), len(api.asked)


def listed(*tools: Any) -> dict[str, Any]:
    """Return the tools of a server that offers these, by name, as they are read."""
    with scripted_server() as server:
        server.tools = list(tools)
        answer = in_pool(lambda pool: pool.tools("1/all", HttpServer(server.url)))
    return {tool["name"]: read_tool(HOUSE, tool).descriptor for tool in answer.tools}


def tool_without_schema(case: Case) -> None:
    offered = case["given"]["tools/list"]
    assert listed(*offered).keys() == {"ok", "draft"}


def compressed(case: Case) -> None:
    body = gzip.compress(b'[{"title": "Emma"}]')
    text, _ = answered(Answer(200, body, {"Content-Encoding": "gzip"}))
    assert "Emma" in text


def redirected(case: Case) -> None:
    text, number = answered(Answer(302, b"", {"Location": "https://elsewhere.example/v1/list"}))
    assert "https://elsewhere.example/v1/list" in text
    assert number == 1
    assert answered(Answer(302, b"", {"Location": "/books"}))[1] == 2


def latin_1(case: Case) -> None:
    word = case["given"]["answer"].rpartition(", ")[2]
    body = word.encode("latin-1")
    assert word in answered(Answer(200, body, kind="text/plain; charset=iso-8859-1"))[0]


def cut_too_much(case: Case) -> None:
    whole, most = "x" * 1_100_000, 1_048_576
    result = ToolResult([{"type": "text", "text": whole}], None, is_error=False)
    kept = json.loads(serialize_result(result, most=most))["content"][0]["text"]
    assert most * 0.99 < len(kept) <= most


def properties_null(case: Case) -> None:
    tool = {"name": "draft", "description": "Not finished.", **case["given"]}
    assert listed(tool)["draft"] is not None
    check_arguments(case["given"]["inputSchema"], {})


def burst(case: Case) -> None:
    number = int(case["given"]["calls"].split()[0])

    def slow(server: ScriptedServer, message: Message) -> Reply | None:
        time.sleep(0.3 if message.get("method") == "tools/call" else 0)
        return None

    async def ask(pool: ConnectionPool) -> list[Any]:
        calls = (pool.call("1/all", HttpServer(server.url), "echo", {}) for _ in range(number))
        return await asyncio.gather(*calls)

    with scripted_server(slow) as server:
        assert len(in_pool(ask)) == number


# Cases that take a whole installation: the test here that carries each out.
ELSEWHERE = {
    "dangling-output-schema": "mcp.test_protocol:"
    "test_output_schema_that_refers_to_nothing_is_left_out",
    "defects-without-reasons": "trust.test_reviewing:"
    "test_what_could_not_be_read_is_kept_by_tool_field_and_reason",
    "progress-prolongs-nothing": "connections.test_pool:"
    "test_call_that_reports_progress_lives_longer_up_to_a_bound",
    "refresh-token-twice-at-once": "mcp.test_oauth:"
    "test_refresh_that_comes_again_within_a_moment_ends_nothing",
    "session-lost-after-server-restart": "connections.test_sessions:"
    "test_call_after_a_restart_is_made_once_in_a_new_session",
    "structured-only-result": "mcp.test_protocol:"
    "test_structured_value_alone_is_the_text_for_the_model",
    "sign-in-asked-only-by-calls": "connections.test_failure_classes:"
    "test_sign_in_that_only_calls_ask_for_stays_until_it_is_given",
    "token-endpoint-500-ends-the-account": "oauth.test_signing_in:"
    "test_passing_failure_of_a_token_endpoint_ends_no_account",
}
HERE: dict[str, Callable[[Case], None]] = {
    "burst-of-calls": burst,
    "compressed-answer": compressed,
    "latin-1-answer": latin_1,
    "one-tool-without-schema-hides-the-server": tool_without_schema,
    "properties-null": properties_null,
    "redirect-without-a-word": redirected,
    "result-cut-to-a-sixth": cut_too_much,
}


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the cases lie beside the project: ../shared/cases")
@pytest.mark.parametrize("slug", CASES)
def test_case_of_people_ends_as_expected(slug: str) -> None:
    if slug in ELSEWHERE:
        module, _, name = ELSEWHERE[slug].partition(":")
        path = Path(settings.BASE_DIR, "tests", *module.split(".")).with_suffix(".py")
        assert f"def {name}(" in path.read_text()
    else:
        HERE[slug](CASES[slug])
