"""The authorization server: Authlib knows the grammar of OAuth, the rows and rules are ours.

Clients are public, so PKCE by S256 proves who began. Codes and refresh tokens work once: showing
one again ends the connection that it made, a refresh token's second use at once excepted.
"""

from datetime import timedelta
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from authlib.integrations.django_oauth2 import AuthorizationServer
from authlib.integrations.django_oauth2.requests import DjangoOAuth2Payload, DjangoOAuth2Request
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import InvalidGrantError, InvalidRequestError, OAuth2Request
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, RefreshTokenGrant
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.http import HttpRequest
from django.urls import reverse

from acl.keys.lifecycle import digest_of
from acl.models import AuthorizationCode, ClientToken, RegisteredClient
from acl.oauth.connections import (
    SCOPES,
    IssuedCode,
    IssuedToken,
    PublicClient,
    end_connection,
    new_tokens,
    redeem_code,
    store_tokens,
)
from acl.platform.database_work import database_now

# Resources of tokens: this deployment's MCP addresses (RFC 8707).

PATH = "/mcp"
_LONGEST = 500  # as the column `resource` has room for


def origin_of(request: HttpRequest) -> str:
    """Return scheme and host of the deployment as the client sees it, which is the issuer."""
    return f"{request.scheme}://{request.get_host()}"


def resource_of(origin: str, path: str) -> str:
    """Return the identifier of the MCP address at `path`, without its query."""
    return origin + path.rstrip("/")


def read_resource(resources: list[str], origin: str) -> str | None:
    """Return the one resource that a request names, `/mcp` if it names none, None for others."""
    if len(resources) > 1:
        return None
    if not resources or not resources[0]:
        return resource_of(origin, PATH)
    try:
        parts, origin_parts = urlsplit(resources[0]), urlsplit(origin)
    except ValueError:
        return None
    is_ours = (parts.scheme, parts.netloc.lower()) == (
        origin_parts.scheme,
        origin_parts.netloc.lower(),
    )
    path = parts.path.rstrip("/")
    if not is_ours or parts.fragment or not (path == PATH or path.startswith(PATH + "/")):
        return None
    resource = resource_of(origin, path)
    return resource if len(resource) <= _LONGEST else None


CODE_LIFETIME = timedelta(minutes=1)  # RFC 6749, section 4.1.2: ten at most
CODE_REMEMBERED = timedelta(hours=1)  # afterwards, to notice who shows it again
_PUBLIC = ["none"]


class InvalidTargetError(OAuth2Error):  # type: ignore[misc]
    """Refusal of a resource: not served here, or not the one agreed to (RFC 8707)."""

    error = "invalid_target"
    description = "The resource is not served here, or is another one than was agreed to."


class RequiredChallenge(CodeChallenge):  # type: ignore[misc]
    """PKCE by S256, always. A wrong verifier uses the code up."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ["S256"]

    def validate_code_challenge(self, grant: Any, redirect_uri: str) -> None:
        data = grant.request.payload.data
        if not data.get("code_challenge") or data.get("code_challenge_method") != "S256":
            raise InvalidRequestError("PKCE with code_challenge_method S256 is required.")
        super().validate_code_challenge(grant, redirect_uri)

    def validate_code_verifier(self, grant: Any, result: Any) -> None:
        try:
            super().validate_code_verifier(grant, result)
        except InvalidGrantError:
            AuthorizationCode.objects.filter(pk=grant.request.authorization_code.row.pk).delete()
            raise


class CodeGrant(AuthorizationCodeGrant):  # type: ignore[misc]
    """Authorization code with consent."""

    TOKEN_ENDPOINT_AUTH_METHODS = _PUBLIC

    def validate_authorization_request(self) -> str:
        """Check the request, and that its resource is one of ours."""
        redirect_uri: str = super().validate_authorization_request()
        resource = _named_resource(self.request)
        if resource is None:
            raise InvalidTargetError(redirect_uri=redirect_uri)
        self.request.resource = resource
        return redirect_uri

    def save_authorization_code(self, code: str, request: Any) -> None:
        AuthorizationCode.objects.filter(expires_at__lt=Now() - CODE_REMEMBERED).delete()
        AuthorizationCode.objects.create(
            digest=digest_of(code),
            client=request.client.row,
            person=request.user,
            redirect_uri=request.payload.redirect_uri,
            scopes=request.scope.split(),
            resource=request.resource,
            challenge=request.payload.data["code_challenge"],
            expires_at=database_now() + CODE_LIFETIME,
        )

    def query_authorization_code(self, code: str, client: PublicClient) -> IssuedCode | None:
        """Find and lock a code. A used one ends the connection that it made (RFC 6749, 4.1.2)."""
        codes = AuthorizationCode.objects.select_for_update().filter(digest=digest_of(code))
        row = codes.filter(client=client.row).first()
        if row is None:
            return None
        if row.connection is not None:
            end_connection(by=None, connection=row.connection, reason="code used twice")
            return None
        if row.expires_at < database_now():
            return None
        _check_same_resource(self.request, row.resource)
        return IssuedCode(row)

    def authenticate_user(self, authorization_code: IssuedCode) -> User | None:
        return _active(authorization_code.row.person)

    def delete_authorization_code(self, authorization_code: IssuedCode) -> None:
        """Keep the used code for a while, to notice its replay."""


# A client whose answer was lost, or two of its processes, may show the same token twice at once.
# Later that is taken for theft: it ends the connection (RFC 9700, section 4.14.2).
REUSED_WITHIN = timedelta(seconds=10)


class RefreshGrant(RefreshTokenGrant):  # type: ignore[misc]
    """Refresh with rotation. A used refresh token that comes again after a moment was copied:
    nobody keeps access. Within it, a client refreshed twice at once, or lost the answer."""

    TOKEN_ENDPOINT_AUTH_METHODS = _PUBLIC
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token: str) -> IssuedToken | None:
        rows = ClientToken.objects.select_for_update(of=("self",)).select_related(
            "connection__key__owner"
        )
        row = rows.filter(
            digest=digest_of(refresh_token),
            kind=ClientToken.Kind.REFRESH,
            connection__client=self.request.client.row,
            connection__key__revoked_at=None,
        ).first()
        if row is None:
            return None
        now = database_now()
        if row.used_at is not None and row.used_at < now - REUSED_WITHIN:
            end_connection(by=None, connection=row.connection, reason="refresh token used twice")
            return None
        if row.expires_at < now:
            return None
        _check_same_resource(self.request, row.connection.resource)
        return IssuedToken(row)

    def authenticate_user(self, refresh_token: IssuedToken) -> User | None:
        return _active(refresh_token.row.connection.key.owner)

    def issue_token(self, user: User, refresh_token: IssuedToken) -> dict[str, Any]:
        """Issue tokens with the scopes that were agreed to, also where fewer are asked for."""
        return new_tokens(scope=refresh_token.get_scope())

    def revoke_old_credential(self, refresh_token: IssuedToken) -> None:
        unused = ClientToken.objects.filter(pk=refresh_token.row.pk, used_at=None)
        unused.update(used_at=Now())  # the first use counts


class Revocation(RevocationEndpoint):  # type: ignore[misc]
    """Revocation of either token (RFC 7009), which ends the connection."""

    CLIENT_AUTH_METHODS = _PUBLIC

    def query_token(self, token_string: str, token_type_hint: str | None) -> IssuedToken | None:
        rows = ClientToken.objects.select_related("connection__key__owner")
        row = rows.filter(digest=digest_of(token_string)).first()
        return IssuedToken(row) if row else None

    def revoke_token(self, token: IssuedToken, request: Any) -> None:
        connection = token.row.connection
        end_connection(by=connection.key.owner, connection=connection, reason="revoked by client")


class ServedRequest(DjangoOAuth2Request):  # type: ignore[misc]
    """A request to the server, over HTTPS or not.

    Authlib refuses plain HTTP by an environment variable; here that is the operator's setting
    (PEGBOARD_HTTPS), and on one's own machine there is no HTTPS.
    """

    def __init__(self, request: HttpRequest) -> None:
        uri = request.build_absolute_uri().replace("http:", "https:", 1)
        OAuth2Request.__init__(self, request.method, uri, headers=request.headers)
        self.payload = DjangoOAuth2Payload(request)
        self._request = request


class PegboardServer(AuthorizationServer):  # type: ignore[misc]
    """Authlib's server over our rows."""

    def __init__(self) -> None:
        super().__init__(RegisteredClient, ClientToken)
        self.scopes_supported = list(SCOPES)
        self.register_token_generator("default", new_tokens)
        self.register_grant(CodeGrant, [RequiredChallenge(required=True)])
        self.register_grant(RefreshGrant)
        self.register_endpoint(Revocation)

    def create_oauth2_request(self, request: HttpRequest) -> ServedRequest:
        return ServedRequest(request)

    def query_client(self, client_id: str) -> PublicClient | None:
        row = RegisteredClient.objects.filter(client_id=client_id).first()
        return PublicClient(row) if row else None

    def save_token(self, token: dict[str, Any], request: Any) -> None:
        """Store new tokens; with a code, make the connection first."""
        code = getattr(request, "authorization_code", None)
        connection = redeem_code(code.row) if code else request.refresh_token.row.connection
        store_tokens(connection, token)

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Send nothing: the services record what happens."""


@cache
def authorization_server() -> PegboardServer:
    """Return the server of this process; it keeps no state of requests."""
    return PegboardServer()


def server_metadata(origin: str) -> dict[str, Any]:
    """Return the document of the server at `origin`, which is its issuer too."""
    return {
        "issuer": origin,
        "authorization_endpoint": origin + reverse("oauth-authorize"),
        "token_endpoint": origin + reverse("oauth-token"),
        "registration_endpoint": origin + reverse("oauth-register"),
        "revocation_endpoint": origin + reverse("oauth-revoke"),
        "scopes_supported": list(SCOPES),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": settings.PEGBOARD_OAUTH_DOCUMENTS,
    }


def _named_resource(request: Any) -> str | None:
    return read_resource(request.payload.datalist.get("resource", []), origin_of(request._request))


def _check_same_resource(request: Any, agreed: str) -> None:
    """Raise InvalidTargetError where a token request names another resource than was agreed to."""
    if request.payload.datalist.get("resource") and _named_resource(request) != agreed:
        raise InvalidTargetError


def _active(person: User | None) -> User | None:
    return person if person is not None and person.is_active else None
