"""MCP messages with the official SDK's types: JSON-RPC in, JSON-RPC out.

Two generations of the protocol. Up to 2025-11-25 a client negotiates the version by `initialize`
and sends it in a header. From 2026-07-28 on each request carries all it needs, and
`server/discover` lists what the server supports. What an older client announced is in its session
id (`mcp_sessions`), so neither keeps state here.
"""

import secrets
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, cast

from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    InboundLadderRejection,
    classify_inbound_request,
)
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    DEFAULT_NEGOTIATED_VERSION,
    SERVER_INFO_META_KEY,
    CompleteResult,
    CompletionsCapability,
    DiscoverResult,
    EmptyResult,
    GetPromptResult,
    InitializeResult,
    InputRequiredResult,
    JSONRPCRequest,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    LoggingCapability,
    PromptsCapability,
    ReadResourceResult,
    ResourcesCapability,
    Result,
    ServerCapabilities,
    ServerTasksCapability,
    SubscriptionFilter,
    ToolExecution,
    ToolsCapability,
)
from mcp_types.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR
from mcp_types.methods import serialize_server_result, validate_client_request
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)
from pydantic import TypeAdapter, ValidationError

from discovery.calls.execution import BegunCall
from discovery.calls.server_requests.forwarding import (
    LISTEN,
    PASSED,
    SKILLS,
    SUBSCRIPTIONS,
    WATCHING,
    RequestFailedError,
)
from discovery.mcp.server._catalog_requests import RESOURCE_NOT_FOUND
from discovery.mcp.server._change_stream import (
    LIST_CHANGED,
    CannotListenError,
    ChangeStream,
    TaskStates,
    begin,
    keep_list,
    list_has_changed,
    listen,
)
from discovery.mcp.server._client_side import TASKS, ClientSide, LiveCall, cancel, hear_answer
from discovery.mcp.server._endpoints import LIST_TTL_MS, Endpoint
from discovery.mcp.server._mcp_sessions import APPS, McpSession, announces_apps
from discovery.mcp.server._mcp_tools import ServerRefusedError, UnknownToolError, finish, listed_for
from discovery.mcp.server._task_methods import (
    CAPABILITY,
    TASKS_SINCE,
    MissingExtensionError,
    NewerTasks,
    OlderTasks,
    created,
    payload_of,
    task_status,
)
from discovery.mcp.server.call_tasks import TaskRefusedError
from discovery.mcp.server.runnable_tools import SKILL_METHODS, SKILLS_EXTENSION
from discovery.metatools import META_TOOLS

CACHEABLE = frozenset(PASSED) - {"prompts/get", "completion/complete", *WATCHING}
_RESULTS: dict[str, TypeAdapter[Any]] = {
    "resources/list": TypeAdapter(ListResourcesResult),
    "resources/templates/list": TypeAdapter(ListResourceTemplatesResult),
    "resources/read": TypeAdapter(ReadResourceResult),
    "prompts/list": TypeAdapter(ListPromptsResult),
    "prompts/get": TypeAdapter(GetPromptResult),
    "completion/complete": TypeAdapter(CompleteResult),
    "resources/subscribe": TypeAdapter(EmptyResult),
    "resources/unsubscribe": TypeAdapter(EmptyResult),
}
Message = dict[str, Any]
Answering = Result | Message | LiveCall | ChangeStream | BegunCall
ACCEPTED, OK, TOO_MANY, UNAVAILABLE = 202, 200, 429, 503


@dataclass(frozen=True, slots=True)
class RpcAnswer:
    """An HTTP status with a message, several at once, or a stream, in which None is silence.

    `opens` are the capabilities of a client that begins a session with this answer.
    """

    status: int
    body: Message | list[Message] | Generator[Message | None, None, None] | None
    opens: Mapping[str, Any] | None = None


def answer(
    message: Any,
    headers: Mapping[str, str],
    endpoint: Endpoint,
    session: McpSession | None = None,
) -> RpcAnswer:
    """Answer a message; notifications and answers of the client get no body."""
    if session is not None and (
        isinstance(message, dict) and "id" in message and "method" not in message
    ):
        hear_answer(endpoint.principal, message)
        return RpcAnswer(ACCEPTED, None)
    if isinstance(message, dict) and "method" in message and "id" not in message:
        if session is not None and message["method"] == "notifications/cancelled":
            params = message.get("params")
            request_id = params.get("requestId") if isinstance(params, dict) else None
            if (
                isinstance(request_id, str | int)
                and (call := session.find_call(request_id)) is not None
            ):
                cancel(endpoint.principal, call)
        return RpcAnswer(ACCEPTED, None)
    try:
        request = JSONRPCRequest.model_validate(message)
    except ValidationError:
        return _error(None, INVALID_REQUEST, "Send one JSON-RPC request at a time.")
    lowered = {name.lower(): value for name, value in headers.items()}
    version = _version(message, lowered)
    if isinstance(version, InboundLadderRejection):
        return _error(request.id, version.code, version.message, version.data)
    takes_stream = "text/event-stream" in lowered.get("accept", "")
    target_name = lowered.get(MCP_NAME_HEADER)
    return _Exchange(request, version, endpoint, session, takes_stream, target_name).answer()


def not_json(reason: str) -> RpcAnswer:
    """Return the error for a body that is not JSON."""
    return _error(None, PARSE_ERROR, reason)


def _version(message: dict[str, Any], headers: Mapping[str, str]) -> str | InboundLadderRejection:
    """Return the request's protocol version; the oldest one if the client never names it."""
    version = headers.get(MCP_PROTOCOL_VERSION_HEADER, DEFAULT_NEGOTIATED_VERSION)
    if version in HANDSHAKE_PROTOCOL_VERSIONS:
        return version
    verdict = classify_inbound_request(message, headers=headers)
    return verdict if isinstance(verdict, InboundLadderRejection) else verdict.protocol_version


class _Exchange:
    """A request with its protocol version, and the endpoint that it was sent to."""

    def __init__(
        self,
        request: JSONRPCRequest,
        version: str,
        endpoint: Endpoint,
        session: McpSession | None,
        takes_stream: bool,
        target_name: str | None,
    ) -> None:
        self._request, self._session, self._takes_stream = request, session, takes_stream
        self._named = target_name
        self._version = version
        self._params = request.params or {}
        self._endpoint = endpoint
        announced = (self._params.get("_meta") or {}).get(CLIENT_CAPABILITIES_META_KEY) or {}
        has_app_session = session is not None and session.shows_apps
        endpoint.shows_apps = has_app_session or announces_apps(announced)
        self._methods: dict[str, Callable[[], Answering]] = {
            "initialize": self._initialize,
            "ping": EmptyResult,
            "server/discover": self._discover,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            LISTEN: self._listen,
        }
        for passed, (feature, _) in PASSED.items():
            if passed == request.method and feature in endpoint.features:
                self._methods[passed] = self._forward
        if request.method == "logging/setLevel" and "logging" in endpoint.features:
            self._methods["logging/setLevel"] = self._set_log_level

    def answer(self) -> RpcAnswer:
        """Dispatch the method; return its result or an error."""
        method = self._request.method
        if method.startswith("tasks/"):
            return self._answer_about_task(method)
        if method in SKILL_METHODS and SKILLS in self._endpoint.features:
            return self._respond(self._answer_about_skills)
        try:
            validate_client_request(method, self._version, self._request.params)
            answering = self._methods[method]
        except KeyError:  # unknown to this version of the protocol, or to Pegboard
            return self._error_answer(METHOD_NOT_FOUND, "Method not found.")
        except ValidationError as wrong:
            # The first wrong parameter and the reason, without its value, which may be long.
            first = wrong.errors(include_url=False, include_input=False, include_context=False)[0]
            place = ".".join(str(step) for step in first["loc"] if step != "params")
            return self._error_answer(INVALID_PARAMS, f"{place or 'params'}: {first['msg']}")
        answered = self._respond(answering)
        if isinstance(answered.body, dict) and (notices := self._notices()):
            return replace(answered, body=[*notices, answered.body])
        return answered

    def _notices(self) -> list[Message]:
        """Return what an older client hears before a call's result: that its list has changed."""
        is_call = self._request.method == "tools/call" and not self._is_modern
        if not is_call or self._session is None or not self._takes_stream:
            return []
        changed = list_has_changed(self._session, self._endpoint)
        return [{"jsonrpc": "2.0", "method": LIST_CHANGED}] if changed else []

    def _answer_about_task(self, method: str) -> RpcAnswer:
        tasks = self._endpoint.tasks
        if tasks is None or not (self._is_modern or self._version == TASKS_SINCE):
            methods = {}
        elif self._is_modern:
            write = partial(self._serialize, method="tools/call")
            methods = NewerTasks(tasks, self._client, self._params, self._named, write).methods
        else:
            methods = OlderTasks(tasks, self._client, self._params).methods
        if method not in methods:
            return self._error_answer(METHOD_NOT_FOUND, "Method not found.")
        answered = self._respond(methods[method])
        if tasks is not None and self._can_be_asked_by_poll(method, answered):
            polled = OlderTasks(tasks, self._client, self._params).questions_of_poll()
            if polled:
                return replace(answered, body=[*polled, cast(Message, answered.body)])
        return answered

    def _can_be_asked_by_poll(self, method: str, answered: RpcAnswer) -> bool:
        is_poll = method == "tasks/get" and not self._is_modern
        is_heard = self._session is not None and self._takes_stream
        result = answered.body.get("result", {}) if isinstance(answered.body, dict) else {}
        return is_poll and is_heard and result.get("status") == "input_required"

    @cached_property
    def _client(self) -> ClientSide:
        """Read the client's side, for which a session asks Redis."""
        return ClientSide.of(
            self._version,
            self._params,
            session=self._session,
            request_id=self._request.id,
            takes_stream=self._takes_stream,
        )

    def _respond(self, answering: Callable[[], Answering]) -> RpcAnswer:
        try:
            result = answering()
        except UnknownToolError as unknown:
            return self._error_answer(INVALID_PARAMS, str(unknown))
        except (RequestFailedError, ServerRefusedError) as failed:
            return self._error_answer(**self._translate(failed.error))
        except MissingExtensionError as missing:
            return self._error_answer(missing.code, str(missing), missing.data)
        except (CannotListenError, TaskRefusedError) as refused:
            return self._error_answer(refused.code, str(refused))
        if isinstance(result, ChangeStream):
            return RpcAnswer(OK, begin(result))
        if isinstance(result, LiveCall):
            return RpcAnswer(OK, self._stream(result))
        if isinstance(result, BegunCall):
            result = created(result, is_modern=self._is_modern)
        result_json = result if isinstance(result, dict) else self._serialize(result)
        body = {"jsonrpc": "2.0", "id": self._request.id, "result": self._signed(result_json)}
        opens = self._params["capabilities"] if isinstance(result, InitializeResult) else None
        return RpcAnswer(OK, body, opens)

    def _stream(self, live: LiveCall) -> Generator[Message | None, None, None]:
        """Return the messages of a call, begun: what has to be done at its end is done then."""

        def respond(begun_call: BegunCall) -> list[Message]:
            end = payload_of if live.is_task else finish
            body = self._respond(partial(end, begun_call, self._client)).body
            notices = [task_status(begun_call.call)] if live.is_task else self._notices()
            return [*notices, cast(Message, body)]

        messages = live.messages(respond)
        next(messages)
        return messages

    def _serialize(self, result: Result, method: str = "") -> dict[str, Any]:
        """Serialize for this version: older ones know no cache hints."""
        dumped = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        request_method = self._request.method
        method = method or ("tools/call" if request_method == "tasks/result" else request_method)
        return serialize_server_result(method, self._version, dumped)

    def _signed(self, result_json: dict[str, Any]) -> dict[str, Any]:
        """Add the server's name, which newer versions want."""
        if self._is_modern:
            info = self._endpoint.info.model_dump(exclude_none=True)
            result_json["_meta"] = {**(result_json.get("_meta") or {}), SERVER_INFO_META_KEY: info}
        return result_json

    def _error_answer(self, code: int, reason: str, data: Any = None) -> RpcAnswer:
        """Return an error; older versions send it with HTTP status 200."""
        error = _error(self._request.id, code, reason, data)
        return error if self._is_modern else replace(error, status=OK)

    @property
    def _is_modern(self) -> bool:
        return self._version in MODERN_PROTOCOL_VERSIONS

    def _initialize(self) -> InitializeResult:
        requested = self._params["protocolVersion"]
        is_supported = requested in HANDSHAKE_PROTOCOL_VERSIONS
        version = requested if is_supported else LATEST_HANDSHAKE_VERSION
        return InitializeResult(
            protocol_version=version,
            capabilities=self._capabilities(version),
            server_info=self._endpoint.info,
            instructions=self._endpoint.instructions,
        )

    def _discover(self) -> DiscoverResult:
        return DiscoverResult(
            supported_versions=[*MODERN_PROTOCOL_VERSIONS, *reversed(HANDSHAKE_PROTOCOL_VERSIONS)],
            capabilities=self._capabilities(),
            instructions=self._endpoint.instructions,
        )

    def _set_log_level(self) -> Result:
        """Keep the level in the session; who has none hears nothing anyway."""
        if self._session is not None:
            self._session.set_log_level(self._params["level"])
        return EmptyResult()

    def _list_tools(self) -> Result:
        """List the tools. A client of 2025-11-25 may have each real one as a task."""
        listed = self._endpoint.list_tools()
        if self._session is not None:
            keep_list(self._session, listed)
        tools = [listed_for(self._version, tool) for tool in listed.tools]
        if self._version == TASKS_SINCE:
            optional = ToolExecution(task_support="optional")
            tools = [
                tool if tool.name in META_TOOLS else tool.model_copy(update={"execution": optional})
                for tool in tools
            ]
        return listed.model_copy(update={"tools": tools})

    def _call_tool(self) -> Answering:
        name, arguments = self._params["name"], self._params.get("arguments") or {}
        if self._version == TASKS_SINCE and self._params.get("task") is not None:
            return self._endpoint.begin_task(name, arguments, self._client)
        return self._endpoint.call_tool(name, arguments, self._client)

    def _forward(self) -> Result:
        """Ask the server; lists and contents may be kept as long as ours."""
        params = {name: value for name, value in self._params.items() if name != "_meta"}
        if self._request.method in WATCHING:
            if self._session is None:
                raise CannotListenError("Begin a session first.", INVALID_REQUEST)
            params |= {"uris": [self._params["uri"]], "session": self._session.nonce}
        result = self._endpoint.forward(self._request.method, params, self._client)
        if result.get("resultType") == "input_required":
            return InputRequiredResult.model_validate(result, by_name=False)
        if self._is_modern and self._request.method in CACHEABLE:
            result = {**result, "ttlMs": LIST_TTL_MS, "cacheScope": "private"}
        typed: Result = _RESULTS[self._request.method].validate_python(result, by_name=False)
        return typed

    def _answer_about_skills(self) -> Message:
        """Answer a method of the Skills extension, which the types of this version do not have."""
        field = "uri" if self._request.method == "skills/get" else "cursor"
        value = self._params.get(field, "")
        if not isinstance(value, str) or (field == "uri" and not value):
            raise RequestFailedError({"code": INVALID_PARAMS, "message": f"{field}: a text"})
        params = {field: value} if value else {}
        result = self._endpoint.forward(self._request.method, params, self._client)
        hints = {"ttlMs": LIST_TTL_MS, "cacheScope": "private"}
        return {"resultType": "complete", **result, **hints}

    def _listen(self) -> ChangeStream:
        """Begin a newer client's stream, of what this address can tell."""
        if not self._takes_stream:
            raise CannotListenError("Accept text/event-stream to listen.", INVALID_REQUEST)
        filters = SubscriptionFilter.model_validate(self._params["notifications"], by_name=False)
        session, tasks = secrets.token_urlsafe(12), self._heard_tasks(filters)
        return listen(self._endpoint, session, filters, self._client, self._request.id, tasks)

    def _heard_tasks(self, filters: SubscriptionFilter) -> TaskStates:
        """Return the tasks of the caller's that it wants to hear of, of those that it named."""
        tasks, task_ids = self._endpoint.tasks, (filters.model_extra or {}).get("taskIds") or ()
        if tasks is None or not self._client.takes_tasks or not isinstance(task_ids, list):
            return TaskStates()
        write = partial(self._serialize, method="tools/call")

        def describe(task_id: str) -> Message:
            params = {"taskId": task_id}
            return NewerTasks(tasks, self._client, params, task_id, write).describe()

        return TaskStates.of(task_ids, describe)

    def _translate(self, error: dict[str, Any]) -> dict[str, Any]:
        """Return the server's error in words of this version, which has no code of its own for a
        missing resource."""
        code = error["code"]
        if self._is_modern and code == RESOURCE_NOT_FOUND:
            code = INVALID_PARAMS
        return {"code": code, "reason": error["message"], "data": error.get("data")}

    def _capabilities(self, version: str = "") -> ServerCapabilities:
        features = self._endpoint.features
        watches = SUBSCRIPTIONS in features or None
        resources = ResourcesCapability(subscribe=watches, list_changed=watches)
        # Older clients hear of it with the answers to their calls, if those may be streams.
        tells = self._is_modern or self._takes_stream or watches
        makes_tasks = self._endpoint.tasks is not None
        older = makes_tasks and version == TASKS_SINCE
        extensions: dict[str, Message] = {APPS: {}}
        if makes_tasks and self._is_modern:
            extensions[TASKS] = {}
        if SKILLS in features:
            extensions[SKILLS_EXTENSION] = {}
        return ServerCapabilities(
            tasks=ServerTasksCapability.model_validate(CAPABILITY) if older else None,
            extensions=extensions,
            tools=ToolsCapability(list_changed=tells),
            resources=resources if "resources" in features else None,
            prompts=PromptsCapability(list_changed=watches) if "prompts" in features else None,
            completions=CompletionsCapability() if "completions" in features else None,
            logging=LoggingCapability() if "logging" in features else None,
        )


def listen_to_session(endpoint: Endpoint, session: McpSession) -> RpcAnswer | None:
    """Begin the stream of an older client's session; None where there is nothing to hear."""
    if SUBSCRIPTIONS not in endpoint.features:
        return None
    endpoint.shows_apps = session.shows_apps
    everything = SubscriptionFilter(
        tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
    )
    try:
        return RpcAnswer(OK, begin(listen(endpoint, session.nonce, everything, ClientSide())))
    except CannotListenError as refused:
        return replace(_error(None, refused.code, str(refused)), status=TOO_MANY)
    except RequestFailedError as failed:
        return replace(_error(None, failed.error["code"], str(failed)), status=UNAVAILABLE)


def _error(request_id: Any, code: int, reason: str, data: Any = None) -> RpcAnswer:
    error = {"code": code, "message": reason} | ({"data": data} if data is not None else {})
    body = {"jsonrpc": "2.0", "id": request_id, "error": error}
    return RpcAnswer(ERROR_CODE_HTTP_STATUS.get(code, OK), body)
