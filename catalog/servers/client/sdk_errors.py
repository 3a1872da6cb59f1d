"""From whatever the SDK raised to one of our reasons."""

import mcp_types as types
from mcp import MCPError

from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.traffic import Traffic
from catalog.servers.net.outgoing_errors import (
    AnswerTooLargeError,
    EndpointNotAllowedError,
    NotReachableError,
    OutgoingError,
)

_OUTGOING = {
    EndpointNotAllowedError: Reason.NOT_ALLOWED,
    NotReachableError: Reason.NOT_REACHABLE,
    AnswerTooLargeError: Reason.TOO_LARGE,
}


def explain(problem: BaseException | None, traffic: Traffic) -> ServerProblemError:
    """The reason; what the connection itself knows goes before what the SDK made of it."""
    if traffic.reason is not None:
        return ServerProblemError(traffic.reason, traffic.detail)
    for cause in _flat(problem):
        if isinstance(cause, ServerProblemError):
            return cause
        if isinstance(cause, OutgoingError):
            return ServerProblemError(_OUTGOING.get(type(cause), Reason.NOT_REACHABLE))
    if traffic.refusal is not None:
        reason, traffic.refusal = traffic.refusal, None
        detail, traffic.refusal_detail = traffic.refusal_detail, ""
        return ServerProblemError(reason, detail)
    for cause in _flat(problem):
        if isinstance(cause, TimeoutError):
            return ServerProblemError(Reason.NO_ANSWER, traffic.detail)
        if isinstance(cause, MCPError):
            return _of_answer(cause)
    reason = Reason.STOPPED if problem is None else Reason.WRONG_ANSWER
    return ServerProblemError(reason, traffic.detail)


def _of_answer(problem: MCPError) -> ServerProblemError:
    if AnswerTooLargeError.words in problem.message or "exceeded" in problem.message:
        return ServerProblemError(Reason.TOO_LARGE)
    if problem.code == types.REQUEST_TIMEOUT:
        return ServerProblemError(Reason.NO_ANSWER)
    # The SDK's own words, where its code says only that the request was not accepted.
    if problem.code in (types.PARSE_ERROR, types.CONNECTION_CLOSED) or problem.message.startswith(
        "Unexpected content type"
    ):
        return ServerProblemError(Reason.WRONG_ANSWER)
    return ServerProblemError(Reason.REFUSED, problem.message)


def _flat(problem: BaseException | None) -> list[BaseException]:
    if isinstance(problem, BaseExceptionGroup):
        return [cause for inner in problem.exceptions for cause in _flat(inner)]
    return [] if problem is None else [problem]
