"""Content policies of apps' pages, as a part of the tools' definitions."""

from typing import Any

import anyio
import pytest

from catalog.formats.readers.tool import POLICY_OF_PAGE
from catalog.servers.client.mcp_session import Tools
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.connections._definition_check import MOST_PAGES, list_definitions
from catalog.trust.tool_list import OF_LIST, digest_definition, pinned_part

CSP = {"connectDomains": ["https://api.example"]}
META = {"ui": {"csp": CSP}}
SMALL, LARGE = 1_000, 5_000_000


def tool_of(uri: Any) -> dict[str, Any]:
    return {"name": "show", "_meta": {"ui": {"resourceUri": uri}}}


class Server:
    """A server with pages: in its list, and to read; those that it has not are refused."""

    def __init__(self, listed: dict[str, Any], pages: dict[str, Any]) -> None:
        self.listed, self.pages, self.read = listed, pages, list[str]()
        self.is_http, self.uris = True, tuple[Any, ...]()

    async def tools(self) -> Tools:
        return Tools([tool_of(uri) for uri in self.uris], announces=("resources",))

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "resources/list":
            return {"resources": [{"uri": uri, **entry} for uri, entry in self.listed.items()]}
        self.read.append(params["uri"])
        if params["uri"] not in self.pages:
            raise ServerProblemError(Reason.REFUSED)
        return {"contents": [{"uri": params["uri"], "text": "", **self.pages[params["uri"]]}]}


def fold(server: Server, *uris: Any, by_lines: bool = False) -> Tools:
    server.uris, server.is_http = uris, not by_lines
    session: Any = server
    return anyio.run(list_definitions, session)


def policies(tools: Tools) -> list[Any]:
    return [tool["_meta"].get(POLICY_OF_PAGE) for tool in tools.tools]


@pytest.mark.parametrize(
    ("listed", "pages", "by_lines", "policy", "is_read", "is_unread"),
    [
        ({"_meta": META}, {}, False, CSP, False, False),
        ({"_meta": META}, {}, True, CSP, False, False),
        ({}, {"_meta": META}, False, CSP, True, False),
        ({"size": SMALL}, {"_meta": META}, True, CSP, True, False),
        ({"size": LARGE}, {"_meta": META}, True, None, False, True),
        ({}, {"_meta": META}, True, None, False, True),
        ({}, {}, False, None, True, False),
        ({}, None, False, None, True, True),
        ({"_meta": {"ui": {"csp": "all"}}}, {"_meta": []}, False, None, True, False),
    ],
)
def test_policy_is_of_the_list_or_else_of_the_page(
    listed: Any, pages: Any, by_lines: bool, policy: Any, is_read: bool, is_unread: bool
) -> None:
    server = Server({"ui://a": listed}, {} if pages is None else {"ui://a": pages})

    tools = fold(server, "ui://a", by_lines=by_lines)

    assert policies(tools) == [policy]
    assert bool(server.read) is is_read
    assert bool(tools.unread) is is_unread


def test_only_pages_of_apps_are_read_each_once_and_not_too_many() -> None:
    uris = [f"ui://{number:02}" for number in range(MOST_PAGES + 1)]
    server = Server({}, {uri: {"_meta": META} for uri in uris})

    tools = fold(server, *uris, *uris, "https://evil.example", None, "file:///etc")

    assert server.read == uris[:MOST_PAGES]
    assert tools.unread == {uris[-1]}
    assert policies(tools)[-3:] == [None, None, None]


def test_policy_changes_the_digest_that_is_reviewed_and_not_what_a_call_compares() -> None:
    server = Server({}, {"ui://a": {"_meta": META}})
    other = Server({}, {"ui://a": {"_meta": {"ui": {"csp": {"connectDomains": []}}}}})
    definitions = [
        tool_of("ui://a"), *(fold(each, "ui://a").tools[0] for each in (server, other, server))
    ]  # fmt: skip

    digests = [digest_definition(pinned_part(definition)) for definition in definitions]

    assert len(set(digests)) == 3
    assert digests[1] == digests[3]
    assert len({digest[:OF_LIST] for digest in digests}) == 1
    assert {len(digest) for digest in digests} == {64}
