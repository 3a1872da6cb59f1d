"""Authorization servers of APIs: the OpenAPI document names them, as their security scheme.

Talks to the authorization server only, for its metadata. An admin has confirmed the document; what
the metadata says beside it must agree with it.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from mcp.shared.auth import OAuthMetadata
from pydantic import ValidationError

from acl.platform.strict_json import parse_json
from catalog.formats.openapi.api_operations import HTTP
from catalog.formats.openapi.api_security import CLIENT_CREDENTIALS, find_sign_in
from catalog.models import Capability, Integration
from catalog.servers.oauth._endpoint_discovery import OAuthEndpoints, check_endpoints
from catalog.servers.oauth.authorization_client import OAuthHttp
from catalog.servers.oauth.sign_in_error import SignInError

_OPENID = "/.well-known/openid-configuration"
_OAUTH = "/.well-known/oauth-authorization-server"
_LONGEST_SCOPE = 2_000


def discover_api(integration: Integration, http: OAuthHttp) -> OAuthEndpoints:
    """Return where people sign in for an API. The scopes are those of its installed operations."""
    name, sign_in = find_sign_in(integration.source_ref.get("security"))
    if not sign_in or sign_in.get("grant") == CLIENT_CREDENTIALS:
        raise SignInError("not_offered")
    scope = installed_scopes(integration, name)
    if "discovery" in sign_in:
        metadata = _discover(str(sign_in["discovery"]), http)
        # OpenID Connect's own scope makes the answer a sign-in; an API needs only its token.
        scope = scope or "openid"
    else:
        metadata = _of_document(sign_in, http)
    check_endpoints(metadata, http)
    methods = metadata.code_challenge_methods_supported
    if methods is not None and "S256" not in methods:
        raise SignInError("no_pkce")
    return OAuthEndpoints(_issuer(metadata), "", metadata, scope)


def _discover(address: str, http: OAuthHttp) -> OAuthMetadata:
    """Return the provider's metadata, which must name the issuer that its address begins with."""
    metadata = _fetch(address, http)
    if metadata is None:
        raise SignInError("not_offered")
    expected = address.removesuffix(_OPENID)
    if expected == address or _issuer(metadata) != expected.rstrip("/"):
        raise SignInError("wrong_issuer")
    return metadata


def _of_document(sign_in: Mapping[str, Any], http: OAuthHttp) -> OAuthMetadata:
    """Return the endpoints of the document, with what their server says of the same endpoints."""
    authorize, token = str(sign_in["authorize"]), str(sign_in["token"])
    parts = urlsplit(authorize)
    origin = f"{parts.scheme}://{parts.netloc}"
    try:
        metadata = OAuthMetadata.model_validate(
            {"issuer": origin, "authorization_endpoint": authorize, "token_endpoint": token}
        )
    except ValidationError:
        raise SignInError("wrong_answer") from None
    check_endpoints(metadata, http)
    published = _fetch(f"{origin}{_OAUTH}", http)
    # Metadata of other endpoints is of another server: the document's are used as they are.
    if (
        published is None
        or _addresses(published) != _addresses(metadata)
        or _issuer(published) != origin
    ):
        return metadata
    return published


def _fetch(address: str, http: OAuthHttp) -> OAuthMetadata | None:
    answer = http.get(address)
    if answer.status_code != 200:
        return None
    try:
        return OAuthMetadata.model_validate(parse_json(answer.content))
    except ValueError:
        return None


def _addresses(metadata: OAuthMetadata) -> tuple[str, str]:
    return str(metadata.authorization_endpoint), str(metadata.token_endpoint)


def _issuer(metadata: OAuthMetadata) -> str:
    return str(metadata.issuer).rstrip("/")


def installed_scopes(integration: Integration, scheme: str) -> str:
    """Return the scopes that the installed operations need of a scheme, and no others."""
    rows = Capability.objects.filter(integration=integration, available=True)
    needed_scopes: set[str] = set()
    for annotations in rows.values_list("annotations", flat=True):
        sending = annotations.get(HTTP)
        scopes = sending.get("scopes") if isinstance(sending, dict) else None
        if isinstance(scopes, dict):
            needed_scopes.update(map(str, scopes.get(scheme) or ()))
    return " ".join(sorted(needed_scopes))[:_LONGEST_SCOPE]
