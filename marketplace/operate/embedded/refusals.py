"""Error responses of the web server itself, as problem documents (RFC 9457)."""

import json
from uuid import uuid4

from gunicorn.http import errors

from marketplace.operate.embedded.intake import Refusal

_TYPE = "urn:pegboard:problem:"
# Like acl.http.problems, which needs Django.
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
    505: ("version-not-supported", "Only HTTP/1.0 and HTTP/1.1 are spoken"),
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
