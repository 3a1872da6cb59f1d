"""API keys: made, replaced, withdrawn and recognised.

A raw key is shown once and never stored. It is random, so one fast hash is enough, and looking for
the hash tells nothing about the key by its timing.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce, Least, Now
from django.views.decorators.debug import sensitive_variables  # for reports of errors

from acl.clock import database_now
from acl.models import ApiKey
from acl.prepared import rows_of
from acl.services.audit import record

RANDOM_BYTES = 32
PREFIX = "pb_"
SHOWN_CHARACTERS = 11  # of the raw key: enough to tell keys apart, useless for guessing the rest
OVERLAP = timedelta(hours=24)


class KeyRefused(Exception):
    """A key was asked for that could never act for anybody, or that has no scope."""


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """Whoever sent a valid key: what the key may do, in which group, and for whom."""

    key_id: int
    name: str
    prefix: str
    group_id: int
    owner_id: int | None
    acts_for_users: bool
    scopes: frozenset[str]
    is_authenticated: bool = True
    is_active: bool = True
    is_staff: bool = False
    is_anonymous: bool = False


@sensitive_variables("raw")
@transaction.atomic
def create_key(
    *,
    by: User | None,
    name: str,
    group: Group,
    scopes: list[str],
    owner: User | None = None,
    acts_for_users: bool = False,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """The new key and its raw text, which is the only time that it can be seen."""
    check_key(scopes=scopes, owner=owner, acts_for_users=acts_for_users)
    raw = PREFIX + secrets.token_urlsafe(RANDOM_BYTES)
    key = ApiKey.objects.create(
        name=name,
        group=group,
        owner=owner,
        acts_for_users=acts_for_users,
        scopes=sorted(set(scopes)),
        prefix=raw[:SHOWN_CHARACTERS],
        digest=digest_of(raw),
        expires_at=expires_at,
    )
    record(by=by, action="key.created", target=str(key), details=_details(key))
    return key, raw


@sensitive_variables("raw")
@transaction.atomic
def rotate_key(
    *,
    by: User | None,
    key: ApiKey,
    overlap: timedelta = OVERLAP,
    lifetime: timedelta | None = None,
) -> tuple[ApiKey, str]:
    """A successor with the same rights. The old key goes on for `overlap`; the new one ends with
    its `lifetime`, or else when the old one would have."""
    successor, raw = create_key(
        by=by,
        name=key.name,
        group=key.group,
        scopes=key.scopes,
        owner=key.owner,
        acts_for_users=key.acts_for_users,
        expires_at=database_now() + lifetime if lifetime else key.expires_at,
    )
    end = Now() + overlap
    ApiKey.objects.filter(pk=key.pk).update(expires_at=Least(Coalesce(F("expires_at"), end), end))
    details = {"successor": successor.prefix, "overlap_minutes": overlap // timedelta(minutes=1)}
    record(by=by, action="key.rotated", target=str(key), details=details)
    return successor, raw


@transaction.atomic
def revoke_key(*, by: User | None, key: ApiKey) -> None:
    """The key's very next request is refused."""
    ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=Now())
    record(by=by, action="key.revoked", target=str(key), details=_details(key))


def check_key(*, scopes: list[str], owner: User | None, acts_for_users: bool) -> None:
    """Raise KeyRefused where such a key could do nothing."""
    unknown = set(scopes) - set(ApiKey.Scope.values)
    if unknown or not scopes:
        raise KeyRefused(f"scopes must be some of {', '.join(ApiKey.Scope.values)}")
    if not owner and not acts_for_users and set(scopes) != {ApiKey.Scope.ADMIN}:
        raise KeyRefused("the key needs an owner, or must be allowed to act for users")


@sensitive_variables("raw")
def digest_of(raw: str) -> str:
    """What is stored of a key."""
    return sha256(raw.encode()).hexdigest()


@sensitive_variables("raw")
def holder_of(raw: str) -> KeyHolder | None:
    """Who sent this key, in one statement; None when it, or its owner, may not act any more."""
    rows = rows_of(_RECOGNISE, {"digest": digest_of(raw)}, twice=True)
    if not rows:
        return None
    [(key_id, name, prefix, group_id, owner_id, acts_for_users, scopes)] = rows
    return KeyHolder(key_id, name, prefix, group_id, owner_id, acts_for_users, frozenset(scopes))


# Recognising a key and noting its use are one statement. The note is taken once a minute, by the
# database's clock, and never waits for a lock.
_RECOGNISE = """
WITH known AS (
  SELECT k.id, k.name, k.prefix, k.group_id, k.owner_id, k.acts_for_users, k.scopes
  FROM acl_apikey k LEFT JOIN auth_user owner ON owner.id = k.owner_id
  WHERE k.digest = %(digest)s::text AND k.revoked_at IS NULL
    AND (k.expires_at IS NULL OR k.expires_at > now())
    AND COALESCE(owner.is_active, true)
), stale AS (
  SELECT k.id FROM acl_apikey k JOIN known ON known.id = k.id
  WHERE k.last_used_at IS NULL OR k.last_used_at < now() - interval '1 minute'
  FOR NO KEY UPDATE OF k SKIP LOCKED
), noted AS (
  UPDATE acl_apikey SET last_used_at = now() WHERE id IN (SELECT id FROM stale)
)
SELECT id, name, prefix, group_id, owner_id, acts_for_users, scopes FROM known
"""


def _details(key: ApiKey) -> dict[str, object]:
    return {
        "group": key.group.name,
        "scopes": key.scopes,
        "owner": key.owner.get_username() if key.owner else None,
        "acts_for_users": key.acts_for_users,
        "expires_at": key.expires_at.isoformat() if key.expires_at else None,
    }
