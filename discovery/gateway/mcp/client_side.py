"""The client's side of a request: its version, what it can be asked, and what it has answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_types import CLIENT_CAPABILITIES_META_KEY
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

ASKABLE = frozenset({"elicitation", "sampling", "roots"})
_ANSWERS = ("inputResponses", "requestState")
# Content types by the version that brought them; older clients get the others as text.
_SINCE = {"audio": "2025-03-26", "resource_link": "2025-06-18"}


@dataclass(frozen=True, slots=True)
class ClientSide:
    """The sender of a request by MCP. Its capabilities are those announced with this request."""

    version: str = LATEST_HANDSHAKE_VERSION
    capabilities: frozenset[str] = frozenset()
    answers: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, version: str, params: Mapping[str, Any]) -> "ClientSide":
        """Read the client's side from the parameters of a request."""
        if version not in MODERN_PROTOCOL_VERSIONS:
            return cls(version)
        announced = params["_meta"].get(CLIENT_CAPABILITIES_META_KEY) or {}
        answers = {name: params[name] for name in _ANSWERS if params.get(name) is not None}
        return cls(version, ASKABLE & announced.keys(), answers)

    def knows(self, content: str) -> bool:
        """Return True if the client's version has this type of content."""
        return self.version >= _SINCE.get(content, "")

    @property
    def dialogue(self) -> dict[str, Any]:
        """Return what the worker has to know of the client."""
        return {"capabilities": sorted(self.capabilities), "answers": dict(self.answers)}
