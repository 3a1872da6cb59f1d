"""The client behind a call: its capabilities, its answers, and what it hears meanwhile."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from catalog.formats.descriptors import JSONObject


class CannotAskError(Exception):
    """The client cannot be asked this, or has not answered. The message is for the server."""


class Audience(Protocol):
    """The client of a running call. Both methods are called on the connections' loop."""

    def tell(self, method: str, params: JSONObject) -> None:
        """Pass on a notification. It may be dropped."""

    async def ask(self, method: str, params: JSONObject) -> JSONObject:
        """Return the client's result. Raises CannotAskError."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The client's side of a call. `capabilities` are those that it announced, as in MCP.

    `answers` are its `inputResponses` and `requestState`, where it goes on with a call. Only a
    client with an `audience` can be reached while the call runs, and asked only if it `can_answer`
    then: newer ones are asked between requests. One that `can_go_on` makes the next request itself
    where a newer server asks for it. `log_level` is what it wants of the server's log,
    and empty for nothing.
    """

    capabilities: frozenset[str] = frozenset()
    answers: Mapping[str, Any] = field(default_factory=dict, repr=False)
    audience: Audience | None = field(default=None, repr=False)
    can_answer: bool = False
    can_go_on: bool = False
    log_level: str = ""

    @property
    def needs_lane(self) -> bool:
        """Return True if the server may send what does not say to which call it belongs."""
        return self.audience is not None and (self.can_answer or self.log_level != "")


# Nobody is there: a call by the API, or one that was approved later.
SILENT = Dialogue()
