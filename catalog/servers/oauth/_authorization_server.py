"""A server's authorization server: its endpoints, and Pegboard's client there."""

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import anyio
import httpx2
from mcp.client.auth import OAuthRegistrationError
from mcp.client.auth.oauth2 import check_registration_usable
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    create_client_registration_request,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
    get_client_metadata_scopes,
    handle_registration_response,
)
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    ProtectedResourceMetadata,
)
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url
from pydantic import AnyUrl, BaseModel, ValidationError

from acl.platform.strict_json import parse_json
from catalog.formats.openapi.api_operations import HTTP
from catalog.formats.openapi.api_security import CLIENT_CREDENTIALS, find_sign_in
from catalog.models import Capability, Integration, OAuthClient, Secret
from catalog.models.oauth_tables import CLIENT, TOKEN
from catalog.servers.net.address_check import check_address
from catalog.servers.oauth.authorization_client import OAuthHttp, SignInError
from catalog.servers.secrets.sealed_values import seal, unseal

_Metadata = TypeVar("_Metadata", bound=BaseModel)
GRANTS = ["authorization_code", "refresh_token"]
_MAX_URL_CHARACTERS = 500  # as in the tables
# An initialize request needs no session; its 401 response names where to sign in.
_INITIALIZE = {
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
class OAuthEndpoints:
    """The authorization server for a server; all addresses have been checked."""

    issuer: str
    resource: str
    metadata: OAuthMetadata
    scope: str


def discover(endpoint: str, http: OAuthHttp) -> OAuthEndpoints:
    """Query the server, then its authorization server."""
    challenge = http.post_json(endpoint, _INITIALIZE)
    resource_metadata, issuer = _resource_metadata(endpoint, challenge, http)
    resource = resource_url_from_server_url(endpoint)
    if resource_metadata is not None:
        # The token would otherwise be issued for another server (RFC 8707).
        if not check_resource_allowed(resource, str(resource_metadata.resource)):
            raise SignInError("wrong_resource")
        resource = str(resource_metadata.resource)
    issuer, metadata = _server_metadata(endpoint, issuer, http)
    check_endpoints(metadata, http)
    # Without PKCE, whoever intercepts the code could redeem it.
    if "S256" not in (metadata.code_challenge_methods_supported or ()):
        raise SignInError("no_pkce")
    scope = get_client_metadata_scopes(
        extract_scope_from_www_auth(challenge), resource_metadata, metadata, GRANTS
    )
    return OAuthEndpoints(issuer, resource, metadata, scope or "")


def _resource_metadata(
    endpoint: str, challenge: httpx2.Response, http: OAuthHttp
) -> tuple[ProtectedResourceMetadata | None, str | None]:
    """Return the protected resource metadata, and the authorization server as written in it."""
    hint = extract_resource_metadata_from_www_auth(challenge)
    for url in build_protected_resource_metadata_discovery_urls(hint, endpoint):
        answer = http.get(url)
        if answer.status_code == 200:
            try:
                resource_metadata = _read(ProtectedResourceMetadata, answer)
            except ValueError:
                continue
            return resource_metadata, _raw_text(answer, "authorization_servers")
    return None, None


def _server_metadata(
    endpoint: str, issuer: str | None, http: OAuthHttp
) -> tuple[str, OAuthMetadata]:
    """Return the issuer and its metadata, or raise SignInError.

    The metadata must name the expected issuer, which prevents mix-up attacks. Issuers are compared
    as written (RFC 8414, section 3.3), but for a last slash: servers name themselves with and
    without it.
    """
    expected = issuer or _origin(endpoint)
    for url in build_oauth_authorization_server_metadata_discovery_urls(issuer, endpoint):
        answer = http.get(url)
        if answer.status_code != 200:
            continue
        try:
            metadata = _read(OAuthMetadata, answer)
        except ValueError:
            continue
        issuer_text = _raw_text(answer, "issuer")
        if issuer_text.removesuffix("/") != expected.removesuffix("/"):
            raise SignInError("wrong_issuer")
        return issuer_text, metadata
    raise SignInError("not_offered")


def _read(model: type[_Metadata], answer: httpx2.Response) -> _Metadata:
    """Return metadata without the optional fields that are not as the specification has them.

    Raises ValueError where a required one is.
    """
    value = parse_json(answer.content)
    try:
        return model.model_validate(value)
    except ValidationError as problem:
        wrong = {error["loc"][0] for error in problem.errors(include_url=False) if error["loc"]}
    required = {name for name, field in model.model_fields.items() if field.is_required()}
    if wrong & required or not isinstance(value, dict):
        raise ValueError("a required field is wrong")
    return model.model_validate({key: part for key, part in value.items() if key not in wrong})


def _raw_text(answer: httpx2.Response, name: str) -> str:
    """Return a text of the document, or the first of a list, without normalization."""
    value = parse_json(answer.content)[name]
    return str(value[0] if isinstance(value, list) else value)


def check_endpoints(metadata: OAuthMetadata, http: OAuthHttp) -> None:
    """Check every address before any is used: one is opened in a person's browser."""
    for url in (
        *(metadata.authorization_endpoint, metadata.token_endpoint),
        *(metadata.registration_endpoint, metadata.revocation_endpoint),
    ):
        if url is not None:
            check_address(str(url), http.allowed)
            if len(str(url)) > _MAX_URL_CHARACTERS:
                raise SignInError("wrong_answer")


def _origin(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    return f"{parts.scheme}://{parts.netloc}"


# Authorization servers of APIs: the OpenAPI document names them, as their security scheme.
#
# Talks to the authorization server only, for its metadata. An admin has confirmed the document;
# what the metadata says beside it must agree with it.

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
        return _read(OAuthMetadata, answer)
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


# Storage of tokens and client secrets as sealed secrets under reserved names.

__all__ = ["CLIENT", "TOKEN", "load_value", "store_value"]


def store_value(
    integration: Integration, user_id: int | None, name: str, value: dict[str, Any]
) -> None:
    """Seal and store a value, replacing the previous one."""
    row = Secret(integration=integration, user_id=user_id, name=name)
    sealed = seal(json.dumps(value), purpose=row.purpose)
    Secret.objects.update_or_create(
        integration=integration,
        user_id=user_id,  # type: ignore[misc]
        name=name,
        defaults={"sealed": sealed},
    )


def load_value(integration: Integration, user_id: int | None, name: str) -> dict[str, Any]:
    """Return the stored value, or {}."""
    row = Secret.objects.filter(integration=integration, user=user_id, name=name).first()
    if row is None:
        return {}
    value: dict[str, Any] = json.loads(unseal(bytes(row.sealed), purpose=row.purpose))
    return value


@dataclass(frozen=True, slots=True)
class Client:
    """Pegboard's identity at one authorization server."""

    client_id: str
    auth_method: str
    secret: str = field(default="", repr=False)

    def proof(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the fields and headers that authenticate the client (RFC 6749, 2.3.1)."""
        fields, headers = {"client_id": self.client_id}, {}
        if self.auth_method == "client_secret_basic" and self.secret:
            pair = f"{quote(self.client_id, safe='')}:{quote(self.secret, safe='')}"
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        elif self.auth_method == "client_secret_post":
            fields["client_secret"] = self.secret
        return fields, headers


def client_for(
    integration: Integration, endpoints: OAuthEndpoints, redirect_uri: str, http: OAuthHttp
) -> Client:
    """Return the client to sign in with, registering it if needed."""
    row = OAuthClient.objects.filter(integration=integration).first()
    if row is not None and row.by_hand:
        offered = endpoints.metadata.token_endpoint_auth_methods_supported
        return bind_manual_client(row, endpoints.issuer, offered)
    # A client of another issuer is never used: its secret would go to a stranger.
    same = row is not None and row.issuer == endpoints.issuer
    if row is None or not same or row.redirect_uri != redirect_uri:
        row = _register_client(integration, endpoints, redirect_uri, http)
    return _client(row)


def client_at(integration: Integration, issuer: str) -> Client:
    """Return the client known at the issuer, or raise SignInError."""
    row = OAuthClient.objects.filter(integration=integration).first()
    if row is None or row.issuer != issuer:
        raise SignInError("other_issuer")
    return _client(row)


def _client(row: OAuthClient) -> Client:
    secret = load_value(row.integration, None, CLIENT).get("secret", "")
    return Client(row.client_id, row.auth_method or "none", secret)


def bind_manual_client(row: OAuthClient, issuer: str, methods: list[str] | None) -> Client:
    """Bind an admin's client to the first issuer it is used at."""
    # Its secret goes to no other issuer.
    if row.issuer and row.issuer != issuer:
        raise SignInError("other_issuer")
    has_secret = bool(load_value(row.integration, None, CLIENT))
    offered = methods or ["client_secret_basic"]
    usable = [
        method for method in ("client_secret_basic", "client_secret_post") if method in offered
    ]
    row.issuer = issuer
    row.auth_method = (usable or ["client_secret_basic"])[0] if has_secret else "none"
    row.save(update_fields=["issuer", "auth_method"])
    return _client(row)


def _register_client(
    integration: Integration, endpoints: OAuthEndpoints, redirect_uri: str, http: OAuthHttp
) -> OAuthClient:
    if endpoints.metadata.registration_endpoint is None:
        raise SignInError("no_registration")
    client_metadata = OAuthClientMetadata(
        client_name="Pegboard",
        redirect_uris=[AnyUrl(redirect_uri)],
        grant_types=list(GRANTS),
        token_endpoint_auth_method="none",  # noqa: S106 - prefer being a public client
        application_type="web",
        scope=endpoints.scope or None,
    )
    answer = http.send(create_client_registration_request(endpoints.metadata, client_metadata, ""))

    async def read() -> OAuthClientInformationFull:
        return await handle_registration_response(answer)

    try:
        registered = anyio.run(read)
        check_registration_usable(registered)
    except OAuthRegistrationError:
        raise SignInError("unusable_client") from None
    if registered.client_secret:
        store_value(integration, None, CLIENT, {"secret": registered.client_secret})
    row, _ = OAuthClient.objects.update_or_create(
        integration=integration,
        defaults={
            "client_id": registered.client_id[:500],
            "issuer": endpoints.issuer,
            "redirect_uri": redirect_uri,
            "auth_method": registered.token_endpoint_auth_method
            or ("client_secret_basic" if registered.client_secret else "none"),
            "by_hand": False,
        },
    )
    return row
