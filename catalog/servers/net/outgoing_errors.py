"""Errors of outgoing requests. No message reveals an address, a port or a response."""

import httpx2


class OutgoingError(Exception):
    """A request failed; `code` is for machines."""

    code = "outgoing_failed"
    words = "The request could not be made."

    def __init__(self) -> None:
        super().__init__(self.words)


class EndpointNotAllowedError(OutgoingError):
    """Pegboard must not reach this address."""

    code = "endpoint_not_allowed"
    words = (
        "This address may not be used: it must be a public https address, "
        "or its host must be allowed by an administrator."
    )


# A single error for refusals, timeouts, unknown hosts and bad certificates, so that nobody can scan
# a network with it.
class NotReachableError(OutgoingError):
    """The address could not be reached."""

    code = "endpoint_not_reachable"
    words = "The address could not be reached, or did not answer in time."


class TooManyRedirectsError(OutgoingError):
    """The address redirects too often."""

    code = "too_many_redirects"
    words = "The address leads to another one too often."


class AnswerTooLargeError(OutgoingError, httpx2.StreamError):
    """The response is too large. As a StreamError, it fails one call of the MCP SDK."""

    code = "answer_too_large"
    words = "The answer is larger than Pegboard reads."
