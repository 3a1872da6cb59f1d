"""Places where a server or a document is, beside an address that is neither. Pure."""

import re
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

# The usual places of documents: FastAPI and most others, Spring, ASP.NET, NestJS, Django.
_DOCUMENTS = (
    *("openapi.json", "openapi.yaml", "swagger.json", "v3/api-docs", "api-docs"),
    *("swagger/v1/swagger.json", "v2/api-docs", "docs/openapi.json", "api/openapi.json"),
    *("openapi.yml", "swagger.yaml", "docs-json", "api-json", "schema/", "api/schema/"),
    *("openapi/v1.json", "q/openapi", ".well-known/openapi.json"),
)
# What pages of documentation name: Swagger UI, Redoc, Scalar, RapiDoc, and plain links.
_NAMED = re.compile(
    r"""(?:spec-url|data-url|apiDescriptionUrl|href|["']?\burl["']?|specUrl)\s*[:=]\s*["']([^"'\s<>]{1,400})["']"""
)
_LOOKS_LIKE_DOCUMENT = re.compile(
    r"openapi|swagger|api-docs|schema|\.(?:json|ya?ml)\b", re.IGNORECASE
)
_SERVERS = ("mcp", "sse")
_MOST_NAMED = 5


def document_places(address: str, page: str = "") -> list[str]:
    """Return addresses where an API's document may be: named by the page, then the usual ones."""
    host = urlsplit(address).hostname or ""
    targets = (urljoin(address, match) for match in _NAMED.findall(page[:500_000]))
    documents = [target for target in targets if _LOOKS_LIKE_DOCUMENT.search(urlsplit(target).path)]
    within = [target for target in documents if is_within(host, urlsplit(target).hostname or "")]
    usual = (f"{folder}{place}" for folder in _folders(address) for place in _DOCUMENTS)
    places = dict.fromkeys((*list(dict.fromkeys(within))[:_MOST_NAMED], *usual))
    return [place for place in places if place != address]


def server_places(address: str) -> list[str]:
    """Return addresses of an MCP server: this one, with or without a last slash, and `/mcp`."""
    plain, question, query = address.partition("?")
    if urlsplit(plain).path in ("", "/"):
        base = plain.rstrip("/")
        return [address, *(f"{base}/{place}{question}{query}" for place in _SERVERS)]
    toggled = plain.rstrip("/") if plain.endswith("/") else f"{plain}/"
    return [address, f"{toggled}{question}{query}"]


def _folders(address: str) -> Iterator[str]:
    """Yield the address as a folder, and the folders above it."""
    parts = urlsplit(address)
    steps = [step for step in parts.path.split("/") if step]
    origin = f"{parts.scheme}://{parts.netloc}/"
    for count in range(len(steps), -1, -1):
        yield origin + "".join(f"{step}/" for step in steps[:count])


def is_within(host: str, another: str) -> bool:
    """Return True for the same host, or one of the same domain."""
    domain = ".".join(host.split(".")[-2:]) if host.count(".") > 1 else host
    return another == host or (
        not domain.replace(".", "").isdecimal() and another.endswith(f".{domain}")
    )
