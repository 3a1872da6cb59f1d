"""The client behind a call: its capabilities and its answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The client's side of a call. `capabilities` are those that it announced, as in MCP.

    `answers` are its `inputResponses` and `requestState`, where it goes on with a call.
    """

    capabilities: frozenset[str] = frozenset()
    answers: Mapping[str, Any] = field(default_factory=dict, repr=False)


# Nobody is there: a call by the API, or one that was approved later.
SILENT = Dialogue()
