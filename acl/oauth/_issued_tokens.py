"""Issued codes and tokens: their texts, their rows, and these rows as Authlib asks for them."""

import secrets
from datetime import timedelta
from typing import Any

from authlib.oauth2.rfc6749 import ClientMixin, TokenMixin
from django.conf import settings

from acl.keys.lifecycle import TOKEN_PREFIX, digest_of
from acl.models import ApiKey, AuthorizationCode, ClientConnection, ClientToken, RegisteredClient
from acl.oauth._registration import is_registered
from acl.oauth.connections import SCOPES, connect_client
from acl.platform.clock import database_now

ACCESS_LIFETIME = timedelta(hours=1)
_REFRESH_PREFIX = "pbr_"
_RANDOM_BYTES = 32


class PublicClient(ClientMixin):  # type: ignore[misc]
    """A registered client."""

    def __init__(self, row: RegisteredClient) -> None:
        self.row = row

    def get_client_id(self) -> str:
        return self.row.client_id

    def get_default_redirect_uri(self) -> None:
        """Return None: the redirect URI must always be named."""

    def get_allowed_scope(self, scope: str) -> str:
        """Return the scopes asked for, which the server has checked; all by asking for none."""
        requested = set((scope or "").split()) or set(SCOPES)
        return " ".join(name for name in SCOPES if name in requested)

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return is_registered(self.row, redirect_uri)

    def check_client_secret(self, client_secret: str) -> bool:
        return False

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "none"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in ("authorization_code", "refresh_token")


class IssuedCode:
    """An authorization code."""

    code_challenge_method = "S256"

    def __init__(self, row: AuthorizationCode) -> None:
        self.row = row
        self.code_challenge = row.challenge

    def get_redirect_uri(self) -> str:
        return self.row.redirect_uri

    def get_scope(self) -> str:
        return " ".join(self.row.scopes)


class IssuedToken(TokenMixin):  # type: ignore[misc]
    """An access or refresh token."""

    def __init__(self, row: ClientToken) -> None:
        self.row = row

    def check_client(self, client: PublicClient) -> bool:
        return self.row.connection.client_id == client.row.pk

    def get_scope(self) -> str:
        return " ".join(self.row.connection.key.scopes)


def new_tokens(*, scope: str, **_about: Any) -> dict[str, Any]:
    """Make an access and a refresh token."""
    return {
        "token_type": "Bearer",
        "access_token": TOKEN_PREFIX + secrets.token_urlsafe(_RANDOM_BYTES),
        "refresh_token": _REFRESH_PREFIX + secrets.token_urlsafe(_RANDOM_BYTES),
        "expires_in": int(ACCESS_LIFETIME.total_seconds()),
        "scope": scope,
    }


def redeem_code(code: AuthorizationCode) -> ClientConnection:
    """Connect the client of a code, which is kept until it expires: who shows it again?"""
    connection = connect_client(
        person=code.person,
        client=code.client,
        scopes=code.scopes,
        resource=code.resource,
        redirect_uri=code.redirect_uri,
    )
    AuthorizationCode.objects.filter(pk=code.pk).update(connection=connection)
    return connection


def store_tokens(connection: ClientConnection, token: dict[str, Any]) -> None:
    """Store both tokens. The connection lasts as long as its newest refresh token."""
    now = database_now()
    end = now + timedelta(days=settings.PEGBOARD_OAUTH_DAYS)
    mine = ClientToken.objects.filter(connection=connection)
    mine.filter(expires_at__lt=now).delete()
    for kind, name, expires_at in (
        (ClientToken.Kind.ACCESS, "access_token", now + ACCESS_LIFETIME),
        (ClientToken.Kind.REFRESH, "refresh_token", end),
    ):
        mine.create(
            digest=digest_of(token[name]), connection=connection, kind=kind, expires_at=expires_at
        )
    ApiKey.objects.filter(pk=connection.key_id).update(expires_at=end)
