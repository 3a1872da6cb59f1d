"""Translation of the SDK's exceptions to ServerProblemError."""

import mcp_types as types
from mcp import MCPError

from catalog.formats.descriptors import JSONObject
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.traffic import Traffic
from catalog.servers.net.outgoing_errors import (
    AnswerTooLargeError,
    CompressedAnswerError,
    EndpointNotAllowedError,
    NotReachableError,
    OutgoingError,
)

_MOST_CHARACTERS = 2_000
_OUTGOING = {
    EndpointNotAllowedError: Reason.NOT_ALLOWED,
    NotReachableError: Reason.NOT_REACHABLE,
    AnswerTooLargeError: Reason.TOO_LARGE,
}


def explain(problem: BaseException | None, traffic: Traffic) -> ServerProblemError:
    """Return the reason; the connection's own knowledge wins over the SDK's exception."""
    if traffic.reason is not None:
        return ServerProblemError(traffic.reason, traffic.detail)
    for cause in _flatten(problem):
        if isinstance(cause, ServerProblemError):
            return cause
        if isinstance(cause, CompressedAnswerError):
            return explain_compressed(cause)
        if isinstance(cause, OutgoingError):
            return ServerProblemError(_OUTGOING.get(type(cause), Reason.NOT_REACHABLE))
    if traffic.refusal is not None:
        reason, traffic.refusal = traffic.refusal, None
        detail, traffic.refusal_detail = traffic.refusal_detail, ""
        return ServerProblemError(reason, detail)
    for cause in _flatten(problem):
        if isinstance(cause, TimeoutError):
            return ServerProblemError(Reason.NO_ANSWER, traffic.detail)
        if isinstance(cause, MCPError):
            return _explain_response(cause)
    reason = Reason.STOPPED if problem is None else Reason.WRONG_ANSWER
    return ServerProblemError(reason, traffic.detail)


def explain_compressed(problem: CompressedAnswerError) -> ServerProblemError:
    """Return a problem that names the compression."""
    detail = f"The answer is compressed ({problem.encoding}), which Pegboard does not read."
    return ServerProblemError(Reason.WRONG_ANSWER, detail)


def _explain_response(problem: MCPError) -> ServerProblemError:
    if AnswerTooLargeError.words in problem.message or "exceeded" in problem.message:
        return ServerProblemError(Reason.TOO_LARGE)
    if problem.code == types.REQUEST_TIMEOUT:
        return ServerProblemError(Reason.NO_ANSWER)
    # The SDK's own message: its error code only says that the request was not accepted.
    if problem.code in (types.PARSE_ERROR, types.CONNECTION_CLOSED) or problem.message.startswith(
        "Unexpected content type"
    ):
        return ServerProblemError(Reason.WRONG_ANSWER)
    return ServerProblemError(Reason.REFUSED, problem.message, error=_error_of(problem))


def _error_of(problem: MCPError) -> JSONObject:
    """Return the server's error, without data that is too large to pass on."""
    error: JSONObject = {"code": problem.code, "message": problem.message[:_MOST_CHARACTERS]}
    if problem.data is not None and len(repr(problem.data)) <= _MOST_CHARACTERS:
        error["data"] = problem.data
    return error


def _flatten(problem: BaseException | None) -> list[BaseException]:
    if isinstance(problem, BaseExceptionGroup):
        return [cause for inner in problem.exceptions for cause in _flatten(inner)]
    return [] if problem is None else [problem]
