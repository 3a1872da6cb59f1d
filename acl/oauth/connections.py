"""Connections of people's clients: made by consent, ended by their owner, an admin, or misuse."""

import secrets
from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from acl.audit.recorder import record
from acl.keys.lifecycle import digest_of
from acl.models import ApiKey, AuthorizationCode, ClientConnection, ClientToken, RegisteredClient
from acl.models.api_key import Rank
from acl.oauth._registration import host_of

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
