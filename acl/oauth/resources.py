"""Resources of tokens: this deployment's MCP addresses (RFC 8707)."""

from urllib.parse import urlsplit

from django.http import HttpRequest

PATH = "/mcp"
_LONGEST = 500


def origin_of(request: HttpRequest) -> str:
    """Return scheme and host of the deployment as the client sees it, which is the issuer."""
    return f"{request.scheme}://{request.get_host()}"


def resource_of(origin: str, path: str) -> str:
    """Return the identifier of the MCP address at `path`, without its query."""
    return origin + path.rstrip("/")


def read_resource(asked: list[str], origin: str) -> str | None:
    """Return the one resource that a request names, `/mcp` if it names none, None for others."""
    if len(asked) > 1:
        return None
    if not asked or not asked[0]:
        return resource_of(origin, PATH)
    try:
        parts, here = urlsplit(asked[0]), urlsplit(origin)
    except ValueError:
        return None
    is_ours = (parts.scheme, parts.netloc.lower()) == (here.scheme, here.netloc.lower())
    path = parts.path.rstrip("/")
    if not is_ours or parts.fragment or not (path == PATH or path.startswith(PATH + "/")):
        return None
    resource = resource_of(origin, path)
    return resource if len(resource) <= _LONGEST else None
