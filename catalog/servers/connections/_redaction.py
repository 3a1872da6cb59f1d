"""Redaction of a server's own secrets in its responses."""

import json
from collections.abc import Iterable
from typing import Any

from catalog.formats.descriptors import JSONObject
from catalog.servers.client.conversation import Audience
from catalog.servers.client.mcp_session import ToolResult
from catalog.servers.client.server_problems import ServerProblemError

HIDDEN = "[hidden]"
SHORTEST = 6  # shorter values are no real secrets and occur in ordinary words


class SecretRedactor:
    """A redactor for the secrets sent to a server."""

    def __init__(self, secrets: Iterable[str]) -> None:
        # Longest first: one secret may contain another.
        self._texts = sorted((s for s in secrets if len(s) >= SHORTEST), key=len, reverse=True)

    def redact_result(self, result: ToolResult) -> ToolResult:
        """Redact keys and values of a result."""
        parts = (result.content, result.structured, result.required, result.meta)
        if not any(self._contains_secret(part) for part in parts):
            return result
        return ToolResult(
            self._redact(result.content),
            self._redact(result.structured),
            result.is_error,
            self._redact(result.required),
            self._redact(result.meta),
        )

    def redact_problem(self, problem: ServerProblemError) -> ServerProblemError:
        """Redact the detail of a problem."""
        return ServerProblemError(
            problem.reason,
            self._redact(problem.detail),
            sent=problem.sent,
            error=self._redact(problem.error),
            retry_after=problem.retry_after,
        )

    def redact_answer(self, answer: JSONObject) -> JSONObject:
        """Redact keys and values of an answer to another request than a call."""
        redacted: JSONObject = self._redact(answer) if self._contains_secret(answer) else answer
        return redacted

    def _contains_secret(self, value: Any) -> bool:
        if not self._texts or value is None:
            return False
        text = json.dumps(value, ensure_ascii=False)
        return any(json.dumps(secret, ensure_ascii=False)[1:-1] in text for secret in self._texts)

    def _redact(self, value: Any) -> Any:
        if isinstance(value, str):
            for secret in self._texts:
                value = value.replace(secret, HIDDEN)
            return value
        if isinstance(value, dict):
            return {self._redact(key): self._redact(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._redact(inner) for inner in value]
        return value


class RedactedAudience:
    """The client of a call, to which no secret of the server is passed on."""

    def __init__(self, audience: Audience, redactor: SecretRedactor) -> None:
        self._audience, self._redactor = audience, redactor

    def tell(self, method: str, params: JSONObject) -> None:
        """Pass on a notification."""
        self._audience.tell(method, self._redactor.redact_answer(params))

    async def ask(self, method: str, params: JSONObject) -> JSONObject:
        """Return the client's result. Raises CannotAskError."""
        return await self._audience.ask(method, self._redactor.redact_answer(params))
