"""The MCP addresses: `/mcp`, `/mcp/space/<space>` and `/mcp/<integration>`; streamable HTTP.

Any process can answer any message: sessions are in their ids. Streams last as long as a call, or
as the client listens to changes.
Web pages of other origins are refused.
"""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.http import is_same_domain
from django.views.decorators.http import require_safe
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import MethodNotAllowed, ParseError, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.keys.lifecycle import TOKEN_PREFIX, holder_of, holder_of_token, may_still_act
from acl.models import ApiKey
from acl.oauth.authorization_server import PATH, origin_of, read_resource, resource_of
from acl.oauth.connections import SCOPES
from acl.rights.caller_lookup import Caller
from acl.rights.delegation.authority import KeyHolder
from acl.web.authentication import KeyAuthentication, has_scope
from acl.web.open_streams import EVENTS, answer_with_events, write_event
from acl.web.request_callers import caller_of
from discovery.mcp.metatool_api import SCOPES_OF_TOOLS
from discovery.mcp.server._mcp_sessions import McpSession, open_session, read_session
from discovery.metatools import META_TOOLS

# Metadata of the MCP addresses as protected resources (RFC 9728).
#
# Each address is a resource of its own. An address exists here whether or not it serves anybody:
# else strangers could ask which integrations there are.

WELL_KNOWN = "/.well-known/oauth-protected-resource"


@require_safe
def resource_metadata(request: HttpRequest, path: str) -> HttpResponse:
    """Return the metadata of the MCP address at `path`, by default of `/mcp`."""
    origin = origin_of(request)
    resource = read_resource([origin + "/" + path if path else ""], origin)
    if resource is None or not settings.PEGBOARD_OAUTH:
        raise Http404
    document = {
        "resource": resource,
        "resource_name": "Pegboard",
        "authorization_servers": [origin],
        "scopes_supported": list(SCOPES),
        "bearer_methods_supported": ["header"],
    }
    response = JsonResponse(document)
    response["Access-Control-Allow-Origin"] = "*"
    return response


def own_resource(request: HttpRequest) -> str:
    """Return the identifier of the MCP address that the request was sent to."""
    return resource_of(origin_of(request), request.path)


def metadata_address(request: HttpRequest) -> str:
    """Return where the metadata of the request's MCP address is."""
    path = request.path.rstrip("/") if request.path.startswith(PATH) else ""
    return origin_of(request) + WELL_KNOWN + path


# Authentication of MCP clients: an API key, or an access token for this very address.

_ALL = " ".join(SCOPES)


class McpAuthentication(KeyAuthentication):
    """Keys as everywhere, and tokens. A 401 names the metadata with which a client can sign in."""

    def recognise(self, request: Request, raw: str) -> KeyHolder | None:
        """Return the holder of a key, or of a token that was given for this address."""
        if not raw.startswith(TOKEN_PREFIX):
            return holder_of(raw)
        if not settings.PEGBOARD_OAUTH:
            return None
        return holder_of_token(raw, own_resource(request._request))

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge (RFC 6750, RFC 9728)."""
        plain = super().authenticate_header(request)
        if not settings.PEGBOARD_OAUTH:
            return plain
        has_credential = "Authorization" in request.headers
        return _challenge(request, scope=_ALL, error="invalid_token" if has_credential else "")


def missing_scope(request: Request, message: Any) -> str:
    """Return the scopes to ask for where a connected client calls a tool beyond its own; "" where
    it may. Keys get an answer of the protocol: they cannot get more scopes."""
    if not isinstance(request.successful_authenticator, McpAuthentication):
        return ""
    if not isinstance(message, dict) or message.get("method") != "tools/call":
        return ""
    params = message.get("params")
    name = params.get("name") if isinstance(params, dict) else None
    tool = META_TOOLS.get(name) if isinstance(name, str) else None
    needed = tool.scope if tool else ApiKey.Scope.EXECUTE.value
    if has_scope(request.user, needed) or not (
        isinstance(request.user, KeyHolder) and request.user.is_connection
    ):
        return ""
    return " ".join(scope for scope in SCOPES if scope == needed or has_scope(request.user, scope))


def insufficient_scope(request: Request, scope: str) -> Response:
    """Return the 403 after which a client asks the person for more (step-up)."""
    body = {"error": "insufficient_scope", "scope": scope}
    challenge = _challenge(request, scope=scope, error="insufficient_scope")
    return Response(body, status=403, headers={"WWW-Authenticate": challenge})


def _challenge(request: Request, *, scope: str, error: str) -> str:
    fields = {"realm": "pegboard", "error": error, "scope": scope}
    fields["resource_metadata"] = metadata_address(request._request)
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in fields.items() if value)


if TYPE_CHECKING:
    from discovery.mcp.server._endpoints import Endpoint
    from discovery.mcp.server._mcp_protocol import RpcAnswer

SESSION_HEADER = "Mcp-Session-Id"


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

    def post(self, request: Request, integration: str = "", space: str = "") -> HttpResponseBase:
        """Answer one message. Unknown integrations and those of others are 404 alike."""
        # Imported on the first request: the SDK takes 50 MB of memory.
        from discovery.mcp.server import _mcp_protocol

        session = _session(request)
        try:
            message = request.data
        except ParseError as problem:
            return _respond(request, _mcp_protocol.not_json(str(problem.detail)))
        if scope := missing_scope(request, message):
            return insufficient_scope(request, scope)
        endpoint = _endpoint(request, integration, space)
        answer = _mcp_protocol.answer(message, request.headers, endpoint, session)
        return _respond(request, answer)

    def get(self, request: Request, integration: str = "", space: str = "") -> HttpResponseBase:
        """Stream changes to an older client's session; 405 where nothing can be heard."""
        from discovery.mcp.server import _mcp_protocol

        if (session := _session(request)) is None:
            raise MethodNotAllowed("GET")
        endpoint = _endpoint(request, integration, space)
        answer = _mcp_protocol.listen_to_session(endpoint, session)
        if answer is None:
            raise MethodNotAllowed("GET")
        return _respond(request, answer)

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """Answer JSON whatever is accepted: who opens a stream accepts events only."""
        return super().perform_content_negotiation(request, force=True)


def has_allowed_origin(request: Request) -> bool:
    """Return True if the request has no origin, our own, or a trusted one."""
    origin = request.headers.get("Origin")
    own_origin = f"{request.scheme}://{request.get_host()}"
    if origin is None or origin == own_origin:
        return True
    return any(_matches_trusted(origin, trusted) for trusted in settings.CSRF_TRUSTED_ORIGINS)


def _matches_trusted(origin: str, trusted: str) -> bool:
    """Return True if the origin matches `trusted`, which may be `https://*.example.com`."""
    parts, allowed = urlsplit(origin), urlsplit(trusted.replace("*", "", 1))
    return parts.scheme == allowed.scheme and is_same_domain(parts.netloc, allowed.netloc)


def _endpoint(request: Request, integration: str, space: str) -> "Endpoint":
    """Return what the address serves; `?group=` names the group where several have the space."""
    from discovery.mcp.server._endpoints import (
        CatalogEndpoint,
        IntegrationEndpoint,
        find_integration,
    )

    def caller() -> Caller:
        group = request.query_params.get("group")
        return caller_of(request, group=group or None, space=space or None)

    if not integration:
        # Which finds the caller when needed.
        return CatalogEndpoint(request.user, caller, _sign_in_of(request))
    known_caller = caller()
    row = find_integration(known_caller, integration)
    if row is None:
        raise Http404
    return IntegrationEndpoint(request.user, known_caller, row, _sign_in_of(request))


def _sign_in_of(request: Request) -> Callable[[], bool]:
    """Return what says whether the request's key, or account and session, is still valid."""
    principal: Any = request.user
    session = request._request.session
    key = None if isinstance(principal, KeyHolder) else session.session_key
    return lambda: may_still_act(principal) and (key is None or session.exists(key))


def _session(request: Request) -> McpSession | None:
    """Return the client's session, if it has one. Http404 makes it begin another."""
    session_id = request.headers.get(SESSION_HEADER)
    if session_id is None:
        return None
    session = read_session(request.user, session_id)
    if session is None:
        raise Http404
    return session


def _respond(request: Request, answer: "RpcAnswer") -> HttpResponseBase:
    if isinstance(answer.body, Generator):
        return answer_with_events(answer.body, request.META)
    if isinstance(answer.body, list):  # all is there, so that no thread need be lent
        text = "".join(map(write_event, answer.body))
        return HttpResponse(text, content_type=EVENTS, headers={"Cache-Control": "no-store"})
    response = Response(answer.body, status=answer.status)
    if answer.opens is not None:
        response[SESSION_HEADER] = open_session(request.user, answer.opens)
    return response
