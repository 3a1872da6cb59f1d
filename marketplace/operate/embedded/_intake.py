"""Incremental receiving of an HTTP request: takes bytes, gives a complete request or a refusal.

Without I/O: the caller owns socket and clock. Only the framing is parsed here (RFC 9112, 6).
gunicorn's parser reads the request again and decides everything else. Refusals become problem
documents (RFC 9457).
"""

import json
import re
from dataclasses import dataclass, field
from uuid import uuid4

from gunicorn.http import errors

# Limit of all header fields together; gunicorn limits each line to 4,094 bytes within it.
MOST_HEAD_BYTES = 65_536
# Deadlines for head and body. A body gets another second per LEAST_BYTES_A_SECOND.
HEAD_SECONDS, BODY_SECONDS, LEAST_BYTES_A_SECOND = 10.0, 10.0, 10_000
# As gunicorn splits heads; it refuses other line endings.
_END_OF_LINE, _END_OF_HEAD = b"\r\n", b"\r\n\r\n"
# A method (RFC 9110, 5.6.2). TLS and other protocols begin differently.
_METHOD = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}+(?: |\Z)")
_LENGTH = re.compile(rb"[0-9]{1,12}")
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_TYPE = "urn:pegboard:problem:"
# Like acl.web.problems, which needs Django.
_KINDS = {
    400: ("invalid-input", "The request is not valid"),
    403: ("not-allowed", "Not allowed"),
    408: ("timeout", "The request was sent too slowly"),
    411: ("length-required", "The body needs a Content-Length"),
    413: ("too-large", "The body is too large"),
    414: ("too-long", "The request line is too long"),
    417: ("expectation-failed", "The expectation cannot be met"),
    429: ("too-many-requests", "Too many requests"),
    431: ("headers-too-large", "The header fields are too large"),
    500: ("internal-error", "Something went wrong inside Pegboard"),
    501: ("not-implemented", "The transfer coding is not supported"),
    503: ("overloaded", "Too much to do"),
    505: ("version-not-supported", "Only HTTP/1.0 and HTTP/1.1 are supported"),
}
# gunicorn's exceptions; subclasses come first.
_STATUSES: tuple[tuple[type[Exception], int], ...] = (
    (errors.LimitRequestLine, 414),
    (errors.LimitRequestHeaders, 431),
    (errors.InvalidHTTPVersion, 505),
    (errors.ExpectationFailed, 417),
    (errors.UnsupportedTransferCoding, 501),
    (errors.ForbiddenProxyRequest, 403),
    (errors.ConfigurationProblem, 500),
    (errors.ParseException, 400),
    (errors.InvalidChunkSize, 400),
    (errors.ChunkMissingTerminator, 400),
    (errors.InvalidChunkExtension, 400),
)


@dataclass(frozen=True, slots=True)
class Refusal(Exception):
    """HTTP error response of the server itself, without the application."""

    status: int
    detail: str


@dataclass(slots=True)
class Intake:
    """A request while it is being received. `most_body` limits the body, in bytes."""

    started: float
    most_body: int
    received: bytearray = field(default_factory=bytearray)
    head_bytes: int = 0
    body_bytes: int = 0
    expects_continue: bool = False
    _searched: int = 0
    _fields: list[tuple[bytes, bytes]] = field(default_factory=list)

    @property
    def has_begun(self) -> bool:
        """True if any byte has arrived."""
        return bool(self.received)

    @property
    def is_complete(self) -> bool:
        """True if the whole request has arrived."""
        return bool(self.head_bytes) and len(self.received) >= self.head_bytes + self.body_bytes

    @property
    def deadline(self) -> float:
        """Deadline for the whole request, on the caller's clock."""
        if not self.head_bytes:
            return self.started + HEAD_SECONDS
        return self.started + HEAD_SECONDS + BODY_SECONDS + self.body_bytes / LEAST_BYTES_A_SECOND

    def receive(self, data: bytes) -> None:
        """Add received bytes; raises Refusal for invalid or oversized requests."""
        self.received += data
        if not self.head_bytes:
            self._read_head()

    def take(self) -> tuple[bytes, bytes]:
        """Return the complete request, and the bytes after it."""
        end = self.head_bytes + self.body_bytes
        return bytes(self.received[:end]), bytes(self.received[end:])

    def values(self, name: bytes) -> list[bytes]:
        """Return the values of a header field, in order."""
        return [value for field_name, value in self._fields if field_name == name]

    def _read_head(self) -> None:
        if not self._searched:
            del self.received[: len(self.received) - len(self.received.lstrip(b"\r\n"))]
        if not _METHOD.match(self.received[:21]) and self.received:
            raise Refusal(400, "The request does not begin with a method.")
        # The end may begin in the bytes that were searched before.
        end = self.received.find(_END_OF_HEAD, max(0, self._searched - 3))
        self._searched = len(self.received)
        if (end if end >= 0 else len(self.received)) > MOST_HEAD_BYTES:
            raise self._too_large()
        if end >= 0:
            self.head_bytes = end + len(_END_OF_HEAD)
            lines = bytes(self.received[:end]).split(_END_OF_LINE)[1:]
            self._fields = [_parse_field(line) for line in lines]
            self._read_framing()

    def _too_large(self) -> Refusal:
        if _END_OF_LINE not in self.received[:MOST_HEAD_BYTES]:
            return Refusal(414, "The request line is too long.")
        return Refusal(431, "The header fields are too large.")

    def _read_framing(self) -> None:
        lengths, coded = self.values(b"content-length"), self.values(b"transfer-encoding")
        if coded and lengths:
            raise Refusal(400, "A request has a Content-Length or a Transfer-Encoding, not both.")
        if coded:
            raise Refusal(411, "The body needs a Content-Length.")
        if len(lengths) > 1 or not all(_LENGTH.fullmatch(length) for length in lengths):
            raise Refusal(400, "The Content-Length is not a single number.")
        self.body_bytes = int(lengths[0]) if lengths else 0
        if self.body_bytes > self.most_body:
            raise Refusal(413, f"The body is larger than {self.most_body} bytes.")
        expected = [value.lower() for value in self.values(b"expect")]
        self.expects_continue = expected == [b"100-continue"] and not self.is_complete


def _parse_field(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    return name.strip().lower(), value.strip()


def to_refusal(error: Exception) -> Refusal:
    """Map an exception of gunicorn's parser to a refusal; 500 for anything else."""
    # No detail: gunicorn's texts repeat parts of the request.
    if isinstance(error, Refusal):
        return error
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)
    return Refusal(status, "")


def build_response(refusal: Refusal, *, retry_after: int = 0) -> bytes:
    """Build the whole response. The connection closes after it."""
    kind, title = _KINDS[refusal.status]
    request_id = uuid4().hex
    body = json.dumps(
        {
            "type": _TYPE + kind,
            "title": title,
            "status": refusal.status,
            "detail": refusal.detail or f"{title}.",
            "request_id": request_id,
        }
    ).encode()
    lines = [
        f"HTTP/1.1 {refusal.status} {title}",
        "Content-Type: application/problem+json",
        f"Content-Length: {len(body)}",
        "Connection: close",
        f"X-Request-ID: {request_id}",
        "X-Content-Type-Options: nosniff",
        *([f"Retry-After: {retry_after}"] if retry_after else []),
    ]
    return "\r\n".join((*lines, "", "")).encode("ascii") + body
