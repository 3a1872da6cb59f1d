"""Takes a server's own secrets out of what it says: one that repeats its token tells nobody."""

import json
from collections.abc import Iterable
from typing import Any

from catalog.servers.client.mcp_session import Result
from catalog.servers.client.server_problems import ServerProblemError

HIDDEN = "[hidden]"
SHORTEST = 6  # shorter ones are no secrets, and are in too many words


class Hiding:
    """Knows the secrets that were sent along."""

    def __init__(self, secrets: Iterable[str]) -> None:
        # The longest first: one may be a part of another.
        self._texts = sorted((s for s in secrets if len(s) >= SHORTEST), key=len, reverse=True)

    def in_result(self, result: Result) -> Result:
        """The result without them, in keys and values alike."""
        if not any(self._is_in(part) for part in (result.content, result.structured)):
            return result
        return Result(self._in(result.content), self._in(result.structured), result.is_error)

    def in_problem(self, problem: ServerProblemError) -> ServerProblemError:
        """The problem without them."""
        return ServerProblemError(problem.reason, self._in(problem.detail), sent=problem.sent)

    def _is_in(self, value: Any) -> bool:
        if not self._texts or value is None:
            return False
        text = json.dumps(value, ensure_ascii=False)
        return any(json.dumps(secret, ensure_ascii=False)[1:-1] in text for secret in self._texts)

    def _in(self, value: Any) -> Any:
        if isinstance(value, str):
            for secret in self._texts:
                value = value.replace(secret, HIDDEN)
            return value
        if isinstance(value, dict):
            return {self._in(key): self._in(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._in(inner) for inner in value]
        return value
