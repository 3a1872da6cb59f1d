"""Metadata of the MCP addresses as protected resources (RFC 9728).

Each address is a resource of its own. An address exists here whether or not it serves anybody:
else strangers could ask which integrations there are.
"""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from acl.oauth.authorization_server import PATH, origin_of, read_resource, resource_of
from acl.oauth.connections import SCOPES

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
