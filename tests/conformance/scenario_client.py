"""Scenarios of the conformance suite for clients, carried out as the worker does it.

Calls, sign-ins and step-ups go through the code that Pegboard's worker uses, down to its rows.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from socketserver import StreamRequestHandler, TCPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from django.contrib.auth.models import User

from catalog.models import Integration, OAuthSignIn
from catalog.servers.client.conversation import SILENT, Dialogue
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.connections.server_requests import (
    begin_call,
    check_server,
    close_connection,
    record_call,
)
from catalog.servers.oauth.accounts import accept_callback, begin_sign_in, set_client
from catalog.servers.oauth.sign_in import finish, prepare
from tests.factories import IntegrationFactory, UserFactory

REDIRECT = "https://pegboard.example/connections/callback"
MOST_SIGN_INS = 3
CERTIFICATES = httpx2.create_ssl_context()  # read once: a sign-in would take 40 ms to read them
# Arguments of tools that ask for particular ones.
ARGUMENTS: dict[str, dict[str, Any]] = {"add_numbers": {"a": 5, "b": 3}}
# Scenarios whose server asks the person behind a call.
ASKING = ("elicitation-sep1034-client-defaults", "sep-2322-client-request-state")
_VALUES = {"string": "text", "number": 1.5, "integer": 2, "boolean": True, "array": []}


class Audience:
    """A client accepting forms as they are: defaults are the suite's to check."""

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Ignore it."""

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        fields = (params.get("requestedSchema") or {}).get("properties") or {}
        content = {
            name: field.get("default", _VALUES.get(field.get("type", ""), "text"))
            for name, field in fields.items()
        }
        return {"action": "accept", "content": content}


@dataclass(frozen=True)
class Scenario:
    """A server of the suite, added as an integration that an admin signs in to."""

    name: str
    context: dict[str, Any]
    integration: Integration
    person: User

    def run(self) -> str:
        """List the tools and call each; sign in when that is required. Return what happened."""
        try:
            tools = self._retried(lambda: check_server(self.integration).tools)
            calls = [partial(self._call, *call) for call in self._calls(tools)]
            return json.dumps([self._retried(call) for call in calls])
        except ServerProblemError as problem:
            return f"{problem.reason} {problem.detail}"
        finally:
            close_connection(self.integration)  # for which the suite's server waits

    def _retried(self, attempt: Callable[[], Any]) -> Any:
        for _ in range(MOST_SIGN_INS):
            try:
                return attempt()
            except ServerProblemError as problem:
                is_asked = problem.reason in (Reason.SIGN_IN_NEEDED, Reason.SCOPE_NEEDED)
                if not is_asked or not self._sign_in():
                    raise
        return attempt()

    def _calls(self, tools: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
        """Return the calls that the scenario names, or one of each tool."""
        if named := self.context.get("toolCalls"):
            return [(call["name"], call["arguments"]) for call in named]
        schemas = {tool["name"]: tool.get("inputSchema") or {} for tool in tools}
        if self.name == "json-schema-2020-12-preservation":
            focal, echo = list(schemas)
            return [(echo, {"schema": schemas[focal]})]
        return [(name, ARGUMENTS.get(name) or _example(schemas[name])) for name in schemas]

    def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        talk = SILENT
        if self.name in ASKING:
            asked = frozenset({"elicitation"})
            talk = Dialogue(asked, audience=Audience(), can_answer=True)
        try:
            result = begin_call(self.integration, name, arguments, dialogue=talk).result()
        except ServerProblemError as problem:
            raise record_call(self.integration, problem) or problem from None
        return result.content

    def _sign_in(self) -> bool:
        """Sign in once: the suite's authorization server agrees at once."""
        row, state = begin_sign_in(
            by=self.person, integration=self.integration, user=None, redirect_uri=REDIRECT
        )
        prepare(row.pk)
        row.refresh_from_db()
        if row.state != OAuthSignIn.State.WAITING:
            return False
        there = httpx2.URL(row.authorization_url).copy_merge_params({"state": state})
        answered = httpx2.get(there, follow_redirects=False, verify=CERTIFICATES)
        back = answered.headers.get("Location", "")
        given = {name: values[0] for name, values in parse_qs(urlsplit(back).query).items()}
        accept_callback(
            by=self.person,
            state=given.get("state", ""),
            code=given.get("code", ""),
            issuer=given.get("iss", ""),
            error=given.get("error", ""),
        )
        return finish(row.pk)


def open_scenario(name: str, server: str, context: dict[str, Any]) -> Scenario:
    """Add the suite's server, with the client that its context brings."""
    person = UserFactory.create(is_staff=True)  # a shared account is an admin's to give
    integration = IntegrationFactory.create(transport="http", endpoint=server)
    if name == "auth/pre-registration":
        set_client(
            by=person,
            integration=integration,
            client_id=context["client_id"],
            client_secret=context["client_secret"],
        )
    return Scenario(name, context, integration, person)


def _example(schema: dict[str, Any]) -> dict[str, Any]:
    """Return arguments that name every property."""
    return {
        name: _VALUES.get(field.get("type", ""), "text") if isinstance(field, dict) else "text"
        for name, field in (schema.get("properties") or {}).items()
    }


@contextmanager
def scenarios_served() -> Iterator[TCPServer]:
    """A server for `forward.py`; whoever opened it answers with `handle_request`."""

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            server, name, context = self.rfile.read().decode().split("\n", 2)
            self.wfile.write(open_scenario(name, server, json.loads(context)).run().encode())

    class Server(TCPServer):
        request_queue_size = 128  # the suite begins all scenarios at once

    with Server(("127.0.0.1", 0), Handler) as server:
        server.timeout = 0.2
        yield server
