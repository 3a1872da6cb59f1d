"""What can go wrong outwards. No text of it tells an address, a port, or what was found there."""

import httpx2


class OutgoingError(Exception):
    """A request that could not be made or not be finished; `code` is for machines."""

    code = "outgoing_failed"
    words = "The request could not be made."

    def __init__(self) -> None:
        super().__init__(self.words)


class EndpointNotAllowedError(OutgoingError):
    """The address is none that Pegboard may reach."""

    code = "endpoint_not_allowed"
    words = (
        "This address may not be used: it must be a public https address, "
        "or its host must be allowed by an administrator."
    )


class NotReachableError(OutgoingError):
    """Refused, silent, cut off, unknown, a wrong certificate: nobody is to tell them apart."""

    code = "endpoint_not_reachable"
    words = "The address could not be reached, or did not answer in time."


class TooManyRedirectsError(OutgoingError):
    """It leads from one address to the next, and never to an answer."""

    code = "too_many_redirects"
    words = "The address leads to another one too often."


class AnswerTooLargeError(OutgoingError, httpx2.StreamError):
    """The answer has more bytes than are read; for the MCP SDK it is a broken body of one call."""

    code = "answer_too_large"
    words = "The answer is larger than Pegboard reads."
