"""Authentication of MCP clients, and the metadata that says how (RFC 9728)."""

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe
from rest_framework.request import Request
from rest_framework.response import Response

from acl.keys.lifecycle import TOKEN_PREFIX, KeyHolder, holder_of, holder_of_token
from acl.models import ApiKey
from acl.oauth.authorization_server import PATH, origin_of, read_resource, resource_of
from acl.oauth.connections import SCOPES
from acl.web.authentication import KeyAuthentication, has_scope
from discovery.metatools.registry import META_TOOLS

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
