"""A connection to one MCP server, from initialize to the end of its process.

The SDK's client must be entered and left by the same task, so `_run` owns it.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types as types
from django.conf import settings
from mcp import MCPError
from mcp.client import Client
from mcp.client.extension import advertise
from mcp.shared.dispatcher import ProgressFnT
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

from catalog.formats.descriptors import ToolDefect
from catalog.formats.icon_choice import choose_icon
from catalog.formats.readers.tool import passed_meta
from catalog.servers.client._partial_answers import listed_in, read_listed
from catalog.servers.client._sdk_errors import explain, is_forgotten_session
from catalog.servers.client._stdio_transport import stdio_streams
from catalog.servers.client._traffic import Traffic
from catalog.servers.client.conversation import (
    SILENT,
    Conversation,
    Dialogue,
    Hear,
    ResourceWatchers,
    listen,
    progress_to,
)
from catalog.servers.client.http_transport import http_streams
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.server_tasks import call_as_task, takes_tasks, task_only_names
from catalog.servers.client.targets import DEFAULT_LIMITS, HttpServer, ServerLimits, StdioServer
from catalog.servers.net.address_check import AllowedHosts

_ANY_RESULT: TypeAdapter[Any] = TypeAdapter(dict[str, Any])
# What a server may announce beside tools, and Pegboard passes on.
FEATURES = ("resources", "prompts", "completions", "logging")
SUBSCRIPTIONS = "subscriptions"  # to resources
SKILLS = "skills"  # by their extension (SEP-2640)
_SKILLS_EXTENSION = "io.modelcontextprotocol/skills"
_APPS = "io.modelcontextprotocol/ui"  # the extension
_FIRST_REQUEST = "server/discover"  # of 2026-07-28
# Questions that a newer server may ask one after the other of a client of the older generation.
MOST_ROUNDS = 8
_CALL_RESULT: TypeAdapter[Any] = TypeAdapter(types.CallToolResult | types.InputRequiredResult)


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools offered by a server; `left_out` describes what was not read of the list.

    `defects` are tools that could not be read, and fields of the others.

    `icon` is the address of the icon that the server declares for itself, or "". `names` are what
    it calls itself, its title first: a stranger's texts. `unread` are pages of apps whose content
    policy is not known.
    """

    tools: list[dict[str, Any]]
    left_out: str = ""
    announces: tuple[str, ...] = ()
    icon: str = ""
    names: tuple[str, ...] = ()
    defects: tuple[ToolDefect, ...] = ()
    unread: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call. Its content never appears in a repr.

    `required` is what the server asks before it goes on, for a client that can answer; `meta` is
    for clients, not for models.
    """

    content: list[dict[str, Any]] = field(repr=False)
    structured: Any = field(default=None, repr=False)
    is_error: bool = False
    required: dict[str, Any] | None = field(default=None, repr=False)
    meta: dict[str, Any] | None = field(default=None, repr=False)


class Session:
    """A session with one server. Every failure is a ServerProblemError."""

    def __init__(
        self,
        server: StdioServer | HttpServer,
        *,
        limits: ServerLimits = DEFAULT_LIMITS,
        allowed: AllowedHosts | None = None,
        on_tools_changed: Callable[[], None] = lambda: None,
        capabilities: frozenset[str] = frozenset(),
    ) -> None:
        self._server = server
        self._capabilities = capabilities
        self._limits = limits
        self._allowed = allowed
        self._on_tools_changed = on_tools_changed
        self._traffic = Traffic(limits)
        self._ready = asyncio.Event()
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._problem: ServerProblemError | None = None
        self._conversation = Conversation()
        self._watchers = ResourceWatchers()
        self._log_level = ""
        self._task_only: frozenset[str] | None = None
        self._mode = "auto"
        self._running = 0

    @property
    def is_open(self) -> bool:
        """Return True while requests can be sent."""
        is_lost = self._traffic.over.is_set() or self._traffic.is_forgotten
        return self._client is not None and not is_lost

    @property
    def is_forgotten(self) -> bool:
        """Return True if the server does not know the session any more. Calls may still run."""
        return self._traffic.is_forgotten and not self._traffic.over.is_set()

    @property
    def protocol(self) -> str:
        """Return the negotiated MCP version, or "" before initialization."""
        return self._client.protocol_version if self._client else ""

    @property
    def is_http(self) -> bool:
        """Return True if a message of any size leaves the connection as it is."""
        return isinstance(self._server, HttpServer)

    @property
    def is_modern(self) -> bool:
        """Return True if the server asks between requests, and never in the middle of a call."""
        return self.protocol in MODERN_PROTOCOL_VERSIONS

    async def open(self) -> None:
        """Start or connect to the server and negotiate the protocol."""
        await self._begin()
        if self._died_of_newer_protocol():
            self._mode, self._traffic = "legacy", Traffic(self._limits)
            await self._begin()
        if not self._ready.is_set():
            raise self._problem or ServerProblemError(Reason.STOPPED)

    async def _begin(self) -> None:
        """Wait until the session is ready, or has ended."""
        self._task = asyncio.create_task(self._run(), name="mcp session")
        ready = asyncio.create_task(self._ready.wait())
        try:
            await asyncio.wait({self._task, ready}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.close()
            raise
        finally:
            ready.cancel()

    def _died_of_newer_protocol(self) -> bool:
        """Return True if the first request of 2026 ended the program, as its last words say.

        The Python SDK 1.6 ends at a method that it does not know, and some servers pin it.
        """
        problem = self._problem
        if self._ready.is_set() or problem is None or not isinstance(self._server, StdioServer):
            return False
        return problem.reason is Reason.CRASHED and _FIRST_REQUEST in problem.detail

    async def close(self) -> None:
        """End the session and all its processes."""
        self._traffic.end(Reason.STOPPED)
        if self._task is not None:
            if not self._ready.is_set():
                self._task.cancel()
            with suppress(asyncio.CancelledError):
                # Shielded: cancelling the caller must not stop the clean-up of processes.
                await asyncio.shield(self._task)

    async def close_when_idle(self) -> None:
        """End the session after the calls that run on it: another replica may know it still."""
        while self._running and not self._traffic.over.is_set():
            await asyncio.sleep(0.1)
        await self.close()

    async def tools(self) -> Tools:
        """List all tools, page by page, within the limits."""
        client = self._require_client()
        all_tools, defects = list[dict[str, Any]](), list[ToolDefect]()
        cursor, cursors = None, set[str]()
        try:
            with anyio.fail_after(self._limits.list_seconds):
                for _ in range(self._limits.pages):
                    page = await client.session.list_tools(
                        params=types.PaginatedRequestParams(cursor=cursor)
                    )
                    room = self._limits.tools + 1 - len(all_tools)
                    tools, wrong = read_listed(listed_in(page)[:room], self.protocol)
                    all_tools, defects = [*all_tools, *tools], [*defects, *wrong]
                    cursor = page.next_cursor
                    if cursor is None or len(all_tools) > self._limits.tools or cursor in cursors:
                        break
                    cursors.add(cursor)
        except Exception as problem:
            raise await self._to_problem(problem) from None
        return self._limit_tools(all_tools, defects, endless=cursor is not None)

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        seconds: float | None = None,
        dialogue: Dialogue = SILENT,
    ) -> ToolResult:
        """Call a tool, once. If a problem has `sent`, the call may have been executed."""
        client = self._require_client()
        params = {"name": name, "arguments": arguments, **dialogue.answers}
        if self.is_modern and dialogue.log_level:
            params["_meta"] = {types.LOG_LEVEL_META_KEY: dialogue.log_level}
        self._running += 1
        seconds = seconds or self._limits.call_seconds
        try:
            with anyio.fail_after(seconds) as clock, self._conversation.of(dialogue, clock):
                await self._set_log_level()
                hear = progress_to(dialogue, clock, seconds)
                result = await self._send_call(client, params, dialogue, hear)
        except Exception as problem:
            raise await self._to_problem(problem, sent=True) from None
        finally:
            self._running -= 1
        if not isinstance(result, types.CallToolResult):
            if not dialogue.capabilities:  # there is nobody to ask
                raise ServerProblemError(Reason.ASKS_BACK, sent=True)
            required = result.model_dump(by_alias=True, mode="json", exclude_none=True)
            return ToolResult([], required=required)
        return ToolResult(
            [
                block.model_dump(by_alias=True, mode="json", exclude_none=True)
                for block in result.content
            ],
            result.structured_content,
            bool(result.is_error),
            meta=passed_meta(result.meta) or None,
        )

    async def _send_call(
        self, client: Client, params: dict[str, Any], dialogue: Dialogue, hear: ProgressFnT
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Send a call. Where its client can be asked only now, go on with the client's answers."""
        if await self._is_task_only(client, params["name"]):
            return await call_as_task(client.session, params)
        for _ in range(MOST_ROUNDS):
            request = types.CallToolRequest(
                params=types.CallToolRequestParams.model_validate(params, by_name=False)
            )
            # Not the SDK's `call_tool`: it validates results on the event loop, and a hostile
            # schema could keep the validator, and every other connection, busy for ever.
            result: types.CallToolResult | types.InputRequiredResult
            result = await client.session.send_request(
                request, _CALL_RESULT, progress_callback=hear
            )
            if isinstance(result, types.CallToolResult):
                return result
            if dialogue.can_go_on or not dialogue.can_answer:
                return result
            params = {**params, **await self._conversation.answer(result)}
        raise ServerProblemError(Reason.ASKS_BACK)

    async def _is_task_only(self, client: Client, name: str) -> bool:
        """Return True if the tool can be called as a task only. Few servers have any, and those are
        asked once for each connection and change of their tools."""
        if not takes_tasks(client.server_capabilities):
            return False
        if self._task_only is None:
            self._task_only = task_only_names((await self.tools()).tools)
        return name in self._task_only

    async def request(
        self, method: str, params: dict[str, Any], *, seconds: float | None = None
    ) -> dict[str, Any]:
        """Send a request that changes nothing, such as the reading of a resource."""
        client = self._require_client()
        request = types.Request[dict[str, Any], str](method=method, params=params)
        try:
            with anyio.fail_after(seconds or self._limits.call_seconds):
                answer: dict[str, Any] = await client.session.send_request(request, _ANY_RESULT)
                return answer
        except Exception as problem:
            raise await self._to_problem(problem) from None

    @property
    def announces(self) -> tuple[str, ...]:
        """Return what the server announced beside tools."""
        announced = self._require_client().server_capabilities
        features = [name for name in FEATURES if getattr(announced, name) is not None]
        if announced.resources is not None and announced.resources.subscribe:
            features.append(SUBSCRIPTIONS)
        if announced.resources is not None and _SKILLS_EXTENSION in (announced.extensions or {}):
            features.append(SKILLS)
        return tuple(features)

    @property
    def icon(self) -> str:
        """Return the address of the server's icon, or ""."""
        server_info = self._require_client().server_info
        icons = (server_info.icons if server_info else None) or []
        declared = [picture.model_dump(mode="json", by_alias=True) for picture in icons]
        return choose_icon(declared, data_too=True)

    @property
    def names(self) -> tuple[str, ...]:
        """Return what the server calls itself: its title and its name, if it has them."""
        server_info = self._require_client().server_info
        return tuple(filter(None, (server_info.title, server_info.name))) if server_info else ()

    async def watch(self, uris: frozenset[str], hear: Hear, ready: Callable[[], None]) -> None:
        """Hear of changes of these resources, and of lists, until cancelled.

        Raises ServerProblemError when the connection ends.
        """
        client = self._require_client()
        try:
            if self.is_modern:
                await listen(client, uris, hear, ready)
            else:
                async with self._watchers.added(uris, hear, self.request):
                    ready()
                    await self._traffic.over.wait()
        except ServerProblemError:
            raise
        except Exception as problem:
            raise await self._to_problem(problem) from None
        raise self._problem or ServerProblemError(self._traffic.reason or Reason.STOPPED)

    def _require_client(self) -> Client:
        if self._client is None or self._traffic.over.is_set():
            raise self._problem or ServerProblemError(self._traffic.reason or Reason.STOPPED)
        return self._client

    async def _to_problem(self, problem: Exception, *, sent: bool = False) -> ServerProblemError:
        """Convert an exception to a ServerProblemError; the cause of a lost connection wins.

        What a server refused because it does not know the session was not run.
        """
        if self.is_http and is_forgotten_session(problem):
            self._traffic.is_forgotten = True
            return ServerProblemError(Reason.STOPPED, "The server does not know its session.")
        explained = await self._explain_problem(problem)
        return explained.after_sending() if sent else explained

    async def _explain_problem(self, problem: Exception) -> ServerProblemError:
        if self._traffic.over.is_set() and self._task is not None:
            # `_run` sets the problem when it ends, once the process has exited.
            await asyncio.wait({self._task}, timeout=10)
            return self._problem or ServerProblemError(Reason.STOPPED)
        if isinstance(problem, MCPError) and problem.code == types.CONNECTION_CLOSED:
            await asyncio.wait({self._task} if self._task else set(), timeout=1)
            return self._problem or explain(problem, self._traffic)
        return explain(problem, self._traffic)

    def _limit_tools(
        self, tools: list[dict[str, Any]], defects: list[ToolDefect], *, endless: bool
    ) -> Tools:
        most = self._limits.tools
        if len(tools) > most:
            left_out = f"It has more than {most:,} tools; the others are left out."
        else:
            left_out = "Its list of tools does not end; what came first is kept." if endless else ""
        return Tools(tools[:most], left_out, self.announces, self.icon, self.names, tuple(defects))

    async def _run(self) -> None:
        problem: BaseException | None = None
        try:
            with anyio.CancelScope() as scope:
                scope.deadline = anyio.current_time() + self._limits.connect_seconds
                async with self._build_client() as client:
                    scope.deadline = float("inf")
                    self._client = client
                    self._traffic.protocol = client.protocol_version
                    self._ready.set()
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(self._subscribe_to_changes, client)
                        await self._traffic.over.wait()
                        # Closing an HTTP session sends a DELETE, which the server may never answer.
                        scope.deadline = anyio.current_time() + 5 * self._limits.goodbye_seconds
                        tasks.cancel_scope.cancel()
            if scope.cancelled_caught:
                problem = TimeoutError()
        except Exception as failure:
            problem = failure
        finally:
            self._problem = explain(problem, self._traffic)
            self._traffic.end()

    def _build_client(self) -> Client:
        streams: AbstractAsyncContextManager[Any]
        mode, capabilities, talk = self._mode, self._capabilities, self._conversation
        if isinstance(self._server, HttpServer):
            allowed = self._allowed or AllowedHosts.from_settings()
            streams = http_streams(self._server, self._limits, self._traffic, allowed)
            mode = "legacy" if self._server.transport == "sse" else mode
        else:
            streams = stdio_streams(self._server, self._limits, self._traffic)
        return Client(
            streams,
            mode=mode,
            cache=None,  # lists are always read fresh
            elicitation_callback=talk.elicit if "elicitation" in capabilities else None,
            sampling_callback=talk.sample if "sampling" in capabilities else None,
            list_roots_callback=talk.list_roots if "roots" in capabilities else None,
            logging_callback=talk.log,
            message_handler=self._on_message,
            client_info=types.Implementation(name="pegboard", version=settings.PEGBOARD_VERSION),
            # Clients of Pegboard show them; those that do not are shown no tool for apps only.
            extensions=[advertise(_APPS, {"mimeTypes": ["text/html;profile=mcp-app"]})],
        )

    async def _set_log_level(self) -> None:
        """Ask an older server for messages of this level; newer ones hear of it in each request."""
        level = self._conversation.log_level
        if level in ("", self._log_level) or self.is_modern or "logging" not in self.announces:
            return
        with suppress(ServerProblemError):  # the call matters more than its log
            await self.request("logging/setLevel", {"level": level})
            self._log_level = level

    async def _on_message(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._task_only = None
            self._on_tools_changed()
        self._watchers.tell(message)

    async def _subscribe_to_changes(self, client: Client) -> None:
        """Subscribe to tool changes.

        Since the protocol of 2026, servers notify subscribers only.
        """
        if (
            not client.server_capabilities.tools
            or not client.server_capabilities.tools.list_changed
        ):
            return
        with suppress(Exception):
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    self._on_tools_changed()
