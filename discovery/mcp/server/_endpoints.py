"""MCP servers by address: the caller's whole catalogue, also in a space, or one integration."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Protocol

from django.conf import settings
from django.db.models import Q
from mcp_types import CallToolResult, Implementation, ListToolsResult, TextContent, Tool
from mcp_types.jsonrpc import INVALID_PARAMS, INVALID_REQUEST

from acl.models import ApiKey
from acl.rights.caller_lookup import Caller, CallerMissing
from acl.web.authentication import has_scope
from catalog.models import Capability, Integration
from discovery.calls.execution import BegunCall
from discovery.calls.server_requests.forwarding import (
    SKILLS,
    Passing,
    RequestFailedError,
    forward,
    passed_features,
)
from discovery.mcp.server._catalog_requests import CatalogRequests, with_app_of
from discovery.mcp.server._client_side import ClientSide, LiveCall
from discovery.mcp.server._mcp_tools import (
    ToolAnswer,
    UnknownToolError,
    begin_task,
    call_meta,
    call_tool,
    describe_meta_tool,
    describe_tool,
    meta_tools,
)
from discovery.mcp.server.call_tasks import CallTasks, NoTaskError
from discovery.mcp.server.runnable_tools import (
    SKILL_METHODS,
    SKILL_START,
    SkillFile,
    SkillFiles,
    listed_tools,
    only_tool_of,
    runnable_tools,
    tools_of_apps,
    tools_of_integration,
)
from discovery.metatools import META_TOOLS

LIST_TTL_MS = 60_000  # a list changes with rights and servers only
_EXECUTE = ApiKey.Scope.EXECUTE
_GET_CALL = META_TOOLS["get_call"]
_OTHERS = "servers:"  # begins a place in the lists of skills of servers


class Endpoint(Protocol):
    """An MCP server as one address presents it."""

    @property
    def principal(self) -> Any:
        """Return the sender of the request."""

    @property
    def is_signed_in(self) -> Callable[[], bool]:
        """Return what says whether the sender's key or session is still valid, for streams."""

    shows_apps: bool  # the client announced MCP Apps, so it may list and call what is for apps only

    @property
    def info(self) -> Implementation: ...

    @property
    def instructions(self) -> str: ...

    def list_tools(self) -> ListToolsResult:
        """List the tools that the principal may call; the list must not be cached for others."""

    def call_tool(
        self, name: str, arguments: dict[str, Any], client: ClientSide
    ) -> ToolAnswer | LiveCall:
        """Call a tool, listed or not. Raises UnknownToolError and ServerRefusedError."""

    def begin_task(self, name: str, arguments: dict[str, Any], client: ClientSide) -> BegunCall:
        """Begin a call as a task. Raises UnknownToolError and TaskRefusedError."""

    @property
    def tasks(self) -> CallTasks | None:
        """Return the caller's calls as tasks; None for who makes none."""

    @property
    def features(self) -> tuple[str, ...]:
        """Return what is offered beside tools: resources, prompts, completions, logging."""

    def forward(self, method: str, params: dict[str, Any], client: ClientSide) -> dict[str, Any]:
        """Ask the server for one of these. Raises RequestFailedError."""

    @property
    def listener(self) -> int | None:
        """Return the user who would hear of changes; None if there is nobody."""


class CatalogEndpoint:
    """The meta-tools, and as many of the caller's own tools as a client takes at once."""

    instructions = (
        "A catalogue of tools and skills, of which you see what your user may use. Look for what a "
        "task needs with search_tools, read it with get_tool, run it with execute_tool. Every tool "
        "found can also be called directly by its name, listed or not."
    )

    def __init__(
        self, principal: Any, caller: Callable[[], Caller], is_signed_in: Callable[[], bool]
    ) -> None:
        self.principal, self._caller, self.is_signed_in = principal, caller, is_signed_in
        self.shows_apps = False
        self._executes = has_scope(principal, _EXECUTE)

    @property
    def info(self) -> Implementation:
        return Implementation(name="pegboard", title="Pegboard", version=settings.PEGBOARD_VERSION)

    def list_tools(self) -> ListToolsResult:
        tools = [*meta_tools(self.principal), *self._own_tools()]
        return ListToolsResult(tools=tools, ttl_ms=LIST_TTL_MS, cache_scope="private")

    def call_tool(
        self, name: str, arguments: dict[str, Any], client: ClientSide
    ) -> ToolAnswer | LiveCall:
        if name in META_TOOLS:
            return call_meta(self.principal, self._caller, name, arguments, client)
        if not self._executes:
            raise UnknownToolError(name)
        # The person must see who asks: the client only knows Pegboard.
        call = partial(call_tool, self._caller(), names_server=True, apps=self.shows_apps)
        try:
            return call(name, arguments, client)
        except UnknownToolError:
            full_name = only_tool_of(self._caller(), name, apps=self.shows_apps)
            if full_name is None:
                raise
            return call(full_name, arguments, client)

    def begin_task(self, name: str, arguments: dict[str, Any], client: ClientSide) -> BegunCall:
        if name in META_TOOLS:
            raise NoTaskError
        if not self._executes:
            raise UnknownToolError(name)
        caller, apps = self._caller(), self.shows_apps
        full_name = only_tool_of(caller, name, apps=apps) or name
        return begin_task(caller, full_name, arguments, client, names_server=True, apps=apps)

    @cached_property
    def tasks(self) -> CallTasks | None:
        try:
            return CallTasks(self.principal, self._caller()) if self._executes else None
        except CallerMissing:
            return None

    @cached_property
    def skills(self) -> SkillFiles | None:
        try:
            skills = SkillFiles(self._caller()) if self._executes else None
        except CallerMissing:
            return None
        return skills if skills and skills.has_any() else None

    @property
    def features(self) -> tuple[str, ...]:
        # The files of skills are resources, whether or not a server has some.
        features = {*(self._requests.features if self._requests else ())}
        return tuple(sorted(features | ({"resources", SKILLS} if self.skills else set())))

    def forward(self, method: str, params: dict[str, Any], client: ClientSide) -> dict[str, Any]:
        uri, cursor = str(params.get("uri", "")), str(params.get("cursor") or "")
        if self.skills and uri.startswith(SKILL_START):
            skill = self.skills.find(uri)
            is_file = method == "resources/read"
            return self._read_skill(skill, client) if is_file else {"skill": skill.entry}
        has_others = self._requests is not None and SKILLS in self._requests.features
        if self.skills and method == "skills/list" and not cursor.startswith(_OTHERS):
            page = self.skills.page(cursor)
            # Pegboard's own come first, then those of servers.
            return {"nextCursor": _OTHERS, **page} if has_others else page
        if method in SKILL_METHODS and not has_others:
            missing = f"Resource not found: {uri[:300]}"
            raise RequestFailedError({"code": INVALID_PARAMS, "message": missing})
        if self._requests is None:
            return {}
        if method != "skills/list":
            return self._requests.forward(method, params, client)
        page = self._requests.forward(method, {"cursor": cursor.removeprefix(_OTHERS)}, client)
        following = {"nextCursor": f"{_OTHERS}{page['nextCursor']}"} if "nextCursor" in page else {}
        return {**page, **following}

    def _read_skill(self, skill: SkillFile, client: ClientSide) -> dict[str, Any]:
        """Return a skill's file through the door of calls: with its record, limits and approval."""
        called = self.call_tool(skill.row.full_name, {}, client)
        if not isinstance(called, CallToolResult) or called.is_error:
            blocks = called.content if isinstance(called, CallToolResult) else []
            reasons = [block.text for block in blocks if isinstance(block, TextContent)]
            reason = " ".join(reasons) or "It waits for approval."
            raise RequestFailedError({"code": INVALID_REQUEST, "message": reason})
        file = {"uri": skill.uri, "mimeType": "text/markdown", "text": skill.text}
        return {"contents": [file]}

    @cached_property
    def _requests(self) -> CatalogRequests | None:
        try:
            return CatalogRequests(self._caller()) if self._executes else None
        except CallerMissing:
            return None

    @property
    def listener(self) -> int | None:
        try:
            return self._caller().user_id
        except CallerMissing:
            return None

    def _own_tools(self) -> list[Tool]:
        """Return the caller's tools; none for a key without a person."""
        if not self._executes or not settings.PEGBOARD_MCP_TOOLS:
            return []
        try:
            caller = self._caller()
        except CallerMissing:
            return []
        rows = listed_tools(caller) + (tools_of_apps(caller) if self.shows_apps else [])
        rows = [row for row in rows if row.full_name not in META_TOOLS]
        return [with_app_of(describe_tool(row, row.full_name), row) for row in rows]


class IntegrationEndpoint:
    """An integration under its own name, limited to what the caller may use."""

    def __init__(
        self,
        principal: Any,
        caller: Caller,
        integration: Integration,
        is_signed_in: Callable[[], bool],
    ) -> None:
        self.principal, self._caller, self._integration = principal, caller, integration
        self.is_signed_in, self.shows_apps = is_signed_in, False

    @property
    def info(self) -> Implementation:
        row = self._integration
        version = row.version or settings.PEGBOARD_VERSION
        return Implementation(name=row.slug, title=row.title, version=version)

    @property
    def instructions(self) -> str:
        return (
            f"The tools of {self._integration.title} that your user may use, through Pegboard. A "
            "call that a person must approve is answered at once: ask for its result with get_call."
        )

    def list_tools(self) -> ListToolsResult:
        slug = self._integration.slug
        rows = tools_of_integration(self._caller, slug, apps=self.shows_apps)
        tools = [describe_tool(row, row.tool_name, own_schema=True) for row in rows]
        if any(row.readiness.asks_first for row in rows):  # type: ignore[attr-defined]
            tools.append(describe_meta_tool(_GET_CALL))
        tools = tools if has_scope(self.principal, _EXECUTE) else []
        return ListToolsResult(tools=tools, ttl_ms=LIST_TTL_MS, cache_scope="private")

    def call_tool(
        self, name: str, arguments: dict[str, Any], client: ClientSide
    ) -> ToolAnswer | LiveCall:
        if not has_scope(self.principal, _EXECUTE):
            raise UnknownToolError(name)
        if full_name := self._full_name(name):
            return call_tool(self._caller, full_name, arguments, client, apps=self.shows_apps)
        if name == _GET_CALL.name:
            return call_meta(self.principal, lambda: self._caller, name, arguments, client)
        raise UnknownToolError(name)

    def begin_task(self, name: str, arguments: dict[str, Any], client: ClientSide) -> BegunCall:
        full_name = self._full_name(name) if self.tasks else None
        if full_name is None and name == _GET_CALL.name:
            raise NoTaskError
        if full_name is None:
            raise UnknownToolError(name)
        return begin_task(self._caller, full_name, arguments, client, apps=self.shows_apps)

    @cached_property
    def tasks(self) -> CallTasks | None:
        executes = has_scope(self.principal, _EXECUTE)
        return CallTasks(self.principal, self._caller, self._integration) if executes else None

    @cached_property
    def features(self) -> tuple[str, ...]:
        if not has_scope(self.principal, _EXECUTE):
            return ()
        return passed_features(self._caller, self._integration)

    def forward(self, method: str, params: dict[str, Any], client: ClientSide) -> dict[str, Any]:
        passing = Passing(self._integration, method, params)
        return forward(caller=self._caller, passing=passing, capabilities=client.capabilities)

    @property
    def listener(self) -> int | None:
        return self._caller.user_id

    def _full_name(self, name: str) -> str | None:
        renamed = f"{self._integration.slug}__{name}"
        matching = self._tools().filter(Q(action=name) | Q(full_name__in=(name, renamed)))
        full_name: str | None = matching.order_by("pk").values_list("full_name", flat=True).first()
        return full_name

    def _tools(self) -> Any:
        tools = runnable_tools(self._caller, apps=self.shows_apps)
        return tools.filter(integration=self._integration)


def find_integration(caller: Caller, slug: str) -> Integration | None:
    """Return the integration if the caller may use one of its tools, else None."""
    usable = Capability.objects.usable_by(
        caller, among=Capability.objects.filter(integration__slug=slug)
    )
    return Integration.objects.filter(pk__in=usable.values("integration_id")).first()
