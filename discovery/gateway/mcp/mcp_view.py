"""The MCP endpoint `/mcp`: streamable HTTP without streams and sessions.

Messages are independent, so any process can answer, and there is no session id to steal. Web pages
of other origins are refused.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import Http404
from django.utils.http import is_same_domain
from rest_framework.exceptions import ParseError, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.http.request_callers import caller_of
from acl.rights.caller import Caller
from discovery.gateway.metatool_permissions import SCOPES_OF_TOOLS


class McpView(APIView):
    """The MCP endpoint."""

    required_scope = SCOPES_OF_TOOLS  # each tool also requires its own
    schema = None  # the protocol describes itself

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse other origins before authentication."""
        # Before authentication, so that pages of other origins learn nothing.
        if not has_allowed_origin(request):
            raise PermissionDenied("Requests from pages of this origin are not answered.")
        super().initial(request, *args, **kwargs)

    def post(self, request: Request) -> Response:
        """Answer one message."""
        # Imported on the first request: the SDK takes 50 MB of memory.
        from discovery.gateway.mcp import mcp_protocol

        if "Mcp-Session-Id" in request.headers:
            raise Http404  # Pegboard opens no sessions, so the id belongs to nobody
        try:
            message = request.data
        except ParseError as problem:
            return _answer(mcp_protocol.not_json(str(problem.detail)))
        return _answer(
            mcp_protocol.answer(message, request.headers, request.user, _caller(request))
        )


def has_allowed_origin(request: Request) -> bool:
    """Return True if the request has no origin, our own, or a trusted one."""
    origin = request.headers.get("Origin")
    own = f"{request.scheme}://{request.get_host()}"
    if origin is None or origin == own:
        return True
    return any(_matches_trusted(origin, trusted) for trusted in settings.CSRF_TRUSTED_ORIGINS)


def _matches_trusted(origin: str, trusted: str) -> bool:
    """Return True if the origin matches `trusted`, which may be `https://*.example.com`."""
    asked, allowed = urlsplit(origin), urlsplit(trusted.replace("*", "", 1))
    return asked.scheme == allowed.scheme and is_same_domain(asked.netloc, allowed.netloc)


def _caller(request: Request) -> Callable[[], Caller]:
    """Return a function that finds the caller when needed: handshakes need none."""
    return lambda: caller_of(request)


def _answer(answer: tuple[int, dict[str, Any] | None]) -> Response:
    status, body = answer
    return Response(body, status=status)
