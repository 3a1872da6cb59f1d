"""Translation of the SDK's exceptions to ServerProblemError."""

import re

import mcp_types as types
from mcp import MCPError

from catalog.formats.descriptors import JSONObject
from catalog.servers.client._traffic import RequestRefusal, Traffic
from catalog.servers.client.server_problems import LIMITS, Reason, ServerProblemError, limited
from catalog.servers.net.address_check import (
    AnswerTooLargeError,
    CompressedAnswerError,
    EndpointNotAllowedError,
    NotReachableError,
    OutgoingError,
)

_MOST_CHARACTERS = 2_000
# As servers say in their own words that they do not know the session of a request.
_FORGOTTEN = re.compile(
    r"\b(?:no|not|invalid|unknown|expired|missing|unrecognized|terminated)\b.{0,30}\bsession\b"
    r"|\bsession\b.{0,60}\b(?:not found|not valid|no longer|does not exist|expired|invalid|unknown"
    r"|terminated|closed|not initiali[sz]ed)\b",
    re.IGNORECASE | re.DOTALL,
)
# The SDK's own words: servers give its code to errors of theirs.
_CLOSED = ("Connection closed", "SSE stream")
_TIMED_OUT = re.compile(r"time[ds]?[ -]?out", re.IGNORECASE)
# Beside these, a tool's own error may speak of a session, and the call may have been run.
_FORGETTING_CODES = frozenset({types.REQUEST_TIMEOUT, types.INVALID_REQUEST})
_LONGEST_HINT = 200  # a tool's own error may tell of some session at length
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
    if (refusal := refusal_of(problem) or traffic.refusal) is not None:
        if refusal.reason in LIMITS:
            return limited(refusal.reason, refusal.retry_after)
        return ServerProblemError(refusal.reason, refusal.detail)
    for cause in _flatten(problem):
        if isinstance(cause, TimeoutError):
            return ServerProblemError(Reason.NO_ANSWER, traffic.detail)
        if isinstance(cause, MCPError):
            return _explain_response(cause)
    reason = Reason.STOPPED if problem is None else Reason.WRONG_ANSWER
    return ServerProblemError(reason, traffic.detail)


def refusal_of(problem: BaseException | None) -> RequestRefusal | None:
    """Return the HTTP status that refused this very request, or None."""
    payloads = (cause.data for cause in _flatten(problem) if isinstance(cause, MCPError))
    return next((data for data in payloads if isinstance(data, RequestRefusal)), None)


def is_forgotten_session(problem: BaseException | None) -> bool:
    """Return True if the server's error says that it does not know the session: nothing was run."""
    if (refusal := refusal_of(problem)) is not None:
        return refusal.is_forgotten
    return any(
        isinstance(cause, MCPError)
        and (
            cause.code == types.UNSUPPORTED_PROTOCOL_VERSION  # another release of it answers now
            or (cause.code in _FORGETTING_CODES and tells_of_lost_session(cause.message))
        )
        for cause in _flatten(problem)
    )


def tells_of_lost_session(text: str) -> bool:
    """Return True if a server says in its own words that it does not know a session."""
    return len(text) <= _LONGEST_HINT and _FORGOTTEN.search(text) is not None


def explain_compressed(problem: CompressedAnswerError) -> ServerProblemError:
    """Return a problem that names the compression."""
    detail = f"The answer is compressed ({problem.encoding}), which Pegboard does not read."
    return ServerProblemError(Reason.WRONG_ANSWER, detail)


def _explain_response(problem: MCPError) -> ServerProblemError:
    if AnswerTooLargeError.words in problem.message or "exceeded" in problem.message:
        return ServerProblemError(Reason.TOO_LARGE)
    # Servers give this code to other errors, too: an unknown session, for one.
    if problem.code == types.REQUEST_TIMEOUT and _TIMED_OUT.search(problem.message):
        return ServerProblemError(Reason.NO_ANSWER)
    if problem.code == types.CONNECTION_CLOSED and problem.message.startswith(_CLOSED):
        return ServerProblemError(Reason.STOPPED, "The connection ended before the answer.")
    # The SDK's own message: its error code only says that the request was not accepted.
    if problem.code == types.PARSE_ERROR or problem.message.startswith("Unexpected content type"):
        return ServerProblemError(Reason.WRONG_ANSWER, problem.message[:_LONGEST_HINT])
    # The server's error, without data that is too large to pass on.
    error: JSONObject = {"code": problem.code, "message": problem.message[:_MOST_CHARACTERS]}
    if problem.data is not None and len(repr(problem.data)) <= _MOST_CHARACTERS:
        error["data"] = problem.data
    return ServerProblemError(Reason.REFUSED, problem.message, error=error)


def _flatten(problem: BaseException | None) -> list[BaseException]:
    if isinstance(problem, BaseExceptionGroup):
        return [cause for inner in problem.exceptions for cause in _flatten(inner)]
    return [] if problem is None else [problem]
