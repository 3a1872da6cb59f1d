"""The client's side of a request: its version, what it can be asked, and what it has answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from mcp_types import CLIENT_CAPABILITIES_META_KEY, LOG_LEVEL_META_KEY
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

from discovery.mcp.server._mcp_sessions import McpSession, askable

TURN = "pegboard/turn_id"  # in a request's _meta
TASKS = "io.modelcontextprotocol/tasks"  # the extension of 2026-07-28
_ANSWERS = ("inputResponses", "requestState")
# Content types by the version that brought them; older clients get the others as text.
_SINCE = {"audio": "2025-03-26", "resource_link": "2025-06-18"}


@dataclass(frozen=True, slots=True)
class ClientSide:
    """The sender of a request by MCP. Its capabilities are those announced with this request, or
    with its session.

    `takes_stream` says that an answer may be a stream, `progress_token` and `log_level` what the
    client wants to hear in it. `turn_id` names the turn of the user's message: it comes from the
    application, for a model writes arguments and no `_meta`. `takes_tasks` is of newer clients:
    a call of theirs may become a task.
    """

    version: str = LATEST_HANDSHAKE_VERSION
    capabilities: frozenset[str] = frozenset()
    answers: Mapping[str, Any] = field(default_factory=dict, repr=False)
    session: McpSession | None = None
    request_id: Any = None
    takes_stream: bool = False
    progress_token: Any = None
    log_level: str = ""
    turn_id: UUID | None = None
    takes_tasks: bool = False

    @classmethod
    def of(
        cls,
        version: str,
        params: Mapping[str, Any],
        *,
        session: McpSession | None = None,
        request_id: Any = None,
        takes_stream: bool = False,
    ) -> "ClientSide":
        """Read the client's side from the parameters of a request and its session."""
        meta = params.get("_meta") or {}
        token = meta.get("progressToken")
        if version not in MODERN_PROTOCOL_VERSIONS:
            return cls(
                version,
                session.capabilities if session and takes_stream else frozenset(),
                session=session,
                request_id=request_id,
                takes_stream=takes_stream,
                progress_token=token,
                log_level=session.log_level if session and takes_stream else "",
                turn_id=_turn_of(meta),
            )
        announced = meta.get(CLIENT_CAPABILITIES_META_KEY) or {}
        answers = {name: params[name] for name in _ANSWERS if params.get(name) is not None}
        return cls(
            version,
            askable(announced),
            answers,
            takes_stream=takes_stream,
            progress_token=token,
            log_level=meta.get(LOG_LEVEL_META_KEY) or "",
            turn_id=_turn_of(meta),
            takes_tasks=TASKS in (announced.get("extensions") or {}),
        )

    def knows(self, content: str) -> bool:
        """Return True if the client's version has this type of content."""
        return self.version >= _SINCE.get(content, "")

    def structured(self, value: Any) -> Any:
        """Return a structured result; until 2026-07-28 it had to be an object, and others are read
        as text."""
        return value if self.is_modern or isinstance(value, dict) else None

    @property
    def is_modern(self) -> bool:
        """Return True if the client is asked between its requests."""
        return self.version in MODERN_PROTOCOL_VERSIONS

    @property
    def listens(self) -> bool:
        """Return True if a call of this client is answered by a stream."""
        can_hear = self.progress_token is not None or self.log_level != ""
        return self.takes_stream and (can_hear or self._can_answer)

    @property
    def _can_answer(self) -> bool:
        return not self.is_modern and bool(self.capabilities)

    def dialogue(
        self, *, is_open: bool = False, is_task: bool = False, names_server: bool = False
    ) -> dict[str, Any]:
        """Return what the worker has to know of the client, and of a stream that it holds open.

        A call that may become a task needs no stream for questions: they wait for the client.
        `names_server` says in them whose they are.
        """
        is_task = is_task and not is_open and bool(self.capabilities)
        offered = self.capabilities if self.is_modern or is_open or is_task else frozenset()
        silent: dict[str, Any] = {"capabilities": sorted(offered), "answers": dict(self.answers)}
        silent |= {"names_server": True} if names_server else {}
        if is_task:
            return silent | {"is_task": True, "can_answer": True, "can_go_on": self.is_modern}
        if not is_open:
            return silent
        live = {"is_open": True, "can_answer": self._can_answer, "log_level": self.log_level}
        return silent | live


def _turn_of(meta: Mapping[str, Any]) -> UUID | None:
    """Return the named turn. Any other text is like the id of a turn that nobody has."""
    try:
        return UUID(str(meta.get(TURN)))
    except ValueError:
        return None
