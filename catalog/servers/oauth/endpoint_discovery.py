"""From a server's address to the endpoints of the authorization server that it names."""

from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
    get_client_metadata_scopes,
)
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url

from acl.platform.strict_json import parse_json
from catalog.servers.net.address_check import check_address
from catalog.servers.oauth.authorization_client import Asker
from catalog.servers.oauth.sign_in_error import SignInError

GRANTS = ["authorization_code", "refresh_token"]
_LONGEST = 500  # characters of an address, as the tables have them
# A question that needs no session, to be told where to sign in.
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "pegboard", "version": "1"},
    },
}


@dataclass(frozen=True, slots=True)
class Found:
    """Where to sign in for a server: all of its addresses have been judged."""

    issuer: str
    resource: str
    metadata: OAuthMetadata
    scope: str


def discover(endpoint: str, ask: Asker) -> Found:
    """Ask the server, then whom it names."""
    challenge = ask.post_json(endpoint, _HELLO)
    named, issuer = _resource_metadata(endpoint, challenge, ask)
    resource = resource_url_from_server_url(endpoint)
    if named is not None:
        if not check_resource_allowed(resource, str(named.resource)):
            raise SignInError("wrong_resource")
        resource = str(named.resource)
    issuer, metadata = _server_metadata(endpoint, issuer, ask)
    _check(metadata, ask)
    scope = get_client_metadata_scopes(
        extract_scope_from_www_auth(challenge), named, metadata, GRANTS
    )
    return Found(issuer, resource, metadata, scope or "")


def _resource_metadata(
    endpoint: str, challenge: httpx2.Response, ask: Asker
) -> tuple[ProtectedResourceMetadata | None, str | None]:
    """Return what the server says of itself, and its authorization server as it is written."""
    hint = extract_resource_metadata_from_www_auth(challenge)
    for url in build_protected_resource_metadata_discovery_urls(hint, endpoint):
        answer = ask.get(url)
        if answer.status_code == 200:
            try:
                named = ProtectedResourceMetadata.model_validate(parse_json(answer.content))
            except ValueError:
                continue
            return named, _written(answer, "authorization_servers")
    return None, None


def _server_metadata(endpoint: str, issuer: str | None, ask: Asker) -> tuple[str, OAuthMetadata]:
    """Return the issuer and what it says of itself. It must be the one that was named: a document
    that speaks for another issuer is how one server is mixed up with another.

    Issuers are compared as they are written (RFC 8414, section 3.3): the models would put a slash
    behind some of them.
    """
    expected = issuer or _origin(endpoint)
    for url in build_oauth_authorization_server_metadata_discovery_urls(issuer, endpoint):
        answer = ask.get(url)
        if answer.status_code != 200:
            continue
        try:
            metadata = OAuthMetadata.model_validate(parse_json(answer.content))
        except ValueError:
            continue
        if (written := _written(answer, "issuer")) != expected:
            raise SignInError("wrong_issuer")
        return written, metadata
    raise SignInError("not_offered")


def _written(answer: httpx2.Response, name: str) -> str:
    """Return a text of the document, or the first of several, letter by letter."""
    value = parse_json(answer.content)[name]
    return str(value[0] if isinstance(value, list) else value)


def _check(metadata: OAuthMetadata, ask: Asker) -> None:
    """Every address before any is used: the first is opened in a person's browser."""
    for url in (
        *(metadata.authorization_endpoint, metadata.token_endpoint),
        *(metadata.registration_endpoint, metadata.revocation_endpoint),
    ):
        if url is not None:
            check_address(str(url), ask.allowed)
            if len(str(url)) > _LONGEST:
                raise SignInError("wrong_answer")
    if "S256" not in (metadata.code_challenge_methods_supported or ()):
        raise SignInError("no_pkce")


def _origin(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    return f"{parts.scheme}://{parts.netloc}"
