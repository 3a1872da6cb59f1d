"""Errors of outgoing requests. No message reveals an address, a port or a response."""

import httpx2
from django.utils.translation import gettext, gettext_noop


class OutgoingError(Exception):
    """A request failed; `code` is for machines."""

    code = "outgoing_failed"
    words = gettext_noop("The request could not be sent.")

    def __init__(self) -> None:
        super().__init__(gettext(self.words))


class EndpointNotAllowedError(OutgoingError):
    """Pegboard must not reach this address."""

    code = "endpoint_not_allowed"
    words = gettext_noop(
        "This address is not allowed. Use a public https address, or let an admin allow its host."
    )


# A single error for refusals, timeouts, unknown hosts and bad certificates, so that nobody can scan
# a network with it.
class NotReachableError(OutgoingError):
    """The address could not be reached."""

    code = "endpoint_not_reachable"
    words = gettext_noop("The address could not be reached or did not respond in time.")


class TooManyRedirectsError(OutgoingError):
    """The address redirects too often."""

    code = "too_many_redirects"
    words = gettext_noop("The address redirects too many times.")


class AnswerTooLargeError(OutgoingError, httpx2.StreamError):
    """The response is too large. As a StreamError, it fails one call of the MCP SDK."""

    code = "answer_too_large"
    words = gettext_noop("The response is too large.")


class CompressedAnswerError(OutgoingError):
    """An unreadable compression, which `encoding` names."""

    code = "answer_compressed"
    words = gettext_noop("The response is compressed in a way that Pegboard does not read.")

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self.encoding = encoding
