"""The MCP addresses: `/mcp`, `/mcp/space/<space>` and `/mcp/<integration>`; streamable HTTP without
streams and sessions.

Messages are independent, so any process can answer, and there is no session id to steal. Web pages
of other origins are refused.
"""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import Http404
from django.utils.http import is_same_domain
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import ParseError, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.http.request_callers import caller_of
from acl.rights.caller import Caller
from discovery.gateway.mcp.mcp_authentication import (
    McpAuthentication,
    insufficient_scope,
    missing_scope,
)
from discovery.gateway.metatool_permissions import SCOPES_OF_TOOLS

if TYPE_CHECKING:
    from discovery.gateway.mcp.endpoints import Endpoint


class McpView(APIView):
    """The MCP endpoint."""

    authentication_classes = [McpAuthentication, SessionAuthentication]
    required_scope = SCOPES_OF_TOOLS  # each tool also requires its own
    schema = None  # the protocol describes itself

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse other origins before authentication."""
        # Before authentication, so that pages of other origins learn nothing.
        if not has_allowed_origin(request):
            raise PermissionDenied("Requests from pages of this origin are not answered.")
        super().initial(request, *args, **kwargs)

    def post(self, request: Request, integration: str = "", space: str = "") -> Response:
        """Answer one message. Unknown integrations and those of others are 404 alike."""
        # Imported on the first request: the SDK takes 50 MB of memory.
        from discovery.gateway.mcp import mcp_protocol

        if "Mcp-Session-Id" in request.headers:
            raise Http404  # Pegboard opens no sessions, so the id belongs to nobody
        try:
            message = request.data
        except ParseError as problem:
            return _answer(mcp_protocol.not_json(str(problem.detail)))
        if scope := missing_scope(request, message):
            return insufficient_scope(request, scope)
        endpoint = _endpoint(request, integration, space)
        return _answer(mcp_protocol.answer(message, request.headers, endpoint))


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


def _endpoint(request: Request, integration: str, space: str) -> "Endpoint":
    """Return what the address serves; `?group=` names the group where several have the space."""
    from discovery.gateway.mcp.endpoints import (
        CatalogEndpoint,
        IntegrationEndpoint,
        find_integration,
    )

    def caller() -> Caller:
        group = request.query_params.get("group")
        return caller_of(request, group=group or None, space=space or None)

    if not integration:
        return CatalogEndpoint(request.user, caller)  # which finds it when needed
    asked = caller()
    found = find_integration(asked, integration)
    if found is None:
        raise Http404
    return IntegrationEndpoint(request.user, asked, found)


def _answer(answer: tuple[int, dict[str, Any] | None]) -> Response:
    status, body = answer
    return Response(body, status=status)
