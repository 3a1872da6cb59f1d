"""Connections of people's clients, made by consent, and the codes and tokens issued for them."""

import secrets
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from authlib.oauth2.rfc6749 import ClientMixin, TokenMixin
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from acl.audit.recorder import record
from acl.keys.lifecycle import TOKEN_PREFIX, digest_of
from acl.models import ApiKey, AuthorizationCode, ClientConnection, ClientToken, RegisteredClient
from acl.models.api_key import Rank
from acl.oauth.client_registration import host_of, is_registered
from acl.platform.database_work import database_now

# Connections of people's clients: made by consent, ended by their owner, an admin, or misuse.

# The scopes of an assistant: it finds tools and runs them. A client never gets `admin` or
# `register`: what it makes would outlive it.
SCOPES = (ApiKey.Scope.DISCOVER.value, ApiKey.Scope.EXECUTE.value)
_PREFIX = "pbc_"
_UNKNOWN_BYTES = 32


@transaction.atomic
def connect_client(
    *,
    person: User,
    client: RegisteredClient,
    scopes: Iterable[str],
    resource: str,
    redirect_uri: str,
) -> ClientConnection:
    """Connect a client: it acts for the person, in all their groups, as a key of theirs would."""
    key = ApiKey.objects.create(
        name=client.name,
        all_groups=True,
        owner=person,
        scopes=sorted(scopes),
        rank=Rank.MEMBER,
        prefix=_PREFIX + secrets.token_hex(3),
        digest=digest_of(secrets.token_urlsafe(_UNKNOWN_BYTES)),  # of a text that nobody has
        created_by=person,
    )
    connection = ClientConnection.objects.create(key=key, client=client, resource=resource)
    details = {"scopes": key.scopes, "resource": resource, "redirect_host": host_of(redirect_uri)}
    details |= {"published_by": client.published_by} if client.published_by else {}
    record(by=person, action="client.connected", target=str(key), details=details)
    return connection


@transaction.atomic
def end_connection(*, by: User | None, connection: ClientConnection, reason: str = "") -> None:
    """End a connection with its tokens: the client's very next request is refused.

    `by` is None where Pegboard itself ends it, for the `reason`. Refresh tokens that were used
    stay until they expire, so that a copy of one is still known for what it is.
    """
    key = ApiKey.objects.filter(pk=connection.key_id, revoked_at=None)
    ClientToken.objects.filter(connection=connection, used_at=None).delete()
    if not key.update(revoked_at=Now()):
        return
    owner = connection.key.owner
    details = {"owner": owner.get_username() if owner else None, "resource": connection.resource}
    details |= {"reason": reason} if reason else {}
    record(by=by, action="client.disconnected", target=str(connection.key), details=details)


def end_connections_of(person: User) -> int:
    """End all connections of a person, as their sessions end, and the codes that would become one;
    return their number."""
    AuthorizationCode.objects.filter(person=person, connection=None).delete()
    mine = ApiKey.objects.filter(owner=person, revoked_at=None).exclude(connection=None)
    ClientToken.objects.filter(connection__key__owner=person).delete()
    return mine.update(revoked_at=Now())


def list_connections(person: User | None = None) -> QuerySet[ClientConnection]:
    """Return the connections that work, the newest first: a person's own, or everybody's."""
    connections = ClientConnection.objects.filter(key__revoked_at=None, key__expires_at__gt=Now())
    if person is not None:
        connections = connections.filter(key__owner=person)
    return connections.select_related("key__owner", "client").order_by("-key__created_at", "-pk")


# Issued codes and tokens: their texts, their rows, and these rows as Authlib asks for them.

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
