"""Tokens: their texts, and the rows that remember them."""

import secrets
from datetime import timedelta
from typing import Any

from django.conf import settings

from acl.keys.key_lifecycle import TOKEN_PREFIX, digest_of
from acl.models import ApiKey, AuthorizationCode, ClientConnection, ClientToken
from acl.oauth.connections import connect_client
from acl.platform.clock import database_now

ACCESS_LIFETIME = timedelta(hours=1)
_REFRESH_PREFIX = "pbr_"
_RANDOM_BYTES = 32


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
