"""API keys: creation, rotation, revocation and recognition.

A raw key is shown once and never stored. It is random, so one fast hash is enough, and looking up
the hash reveals nothing about the key by its timing.
"""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Coalesce, Least, Now
from django.dispatch import Signal
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables  # for reports of errors

from acl.audit.recorder import record
from acl.models import ApiKey, Application, Invitation
from acl.models.api_key import IN_FORCE, Rank
from acl.platform.database_connections import rows_of
from acl.platform.database_work import database_now, write_if_room
from acl.platform.strict_json import parse_json
from acl.rights.delegation import (
    Actor,
    RequestedKey,
    authority_of,
    check_key_authority,
    hold_credential,
    person_behind,
)
from acl.rights.delegation.authority import KeyApplication, KeyHolder
from acl.visible_text.pieces import check_plain_name

__all__ = ["KeyHolder", "KeyRefused", "check_key", "create_key", "digest_of", "holder_of",
           "holder_of_token", "revoke_key", "rotate_key"]  # fmt: skip

RANDOM_BYTES = 32
PREFIX = "pb_"
TOKEN_PREFIX = "pbo_"  # of access tokens, which `acl.oauth` gives to connected clients  # noqa: S105
SHOWN_CHARACTERS = 11  # of the raw key: enough to tell keys apart, useless for guessing the rest
OVERLAP = timedelta(hours=24)
keys_ended = Signal()  # with `keys`, the revoked ones, in the transaction of their revocation


class KeyRefused(Exception):
    """The key could never act for anyone, or has no scope."""


@sensitive_variables("raw")
@transaction.atomic
def create_key(
    *,
    by: Actor,
    name: str,
    scopes: Iterable[str],
    group: Group | None = None,
    groups: Iterable[Group] = (),
    all_groups: bool = False,
    owner: User | None = None,
    acts_for_users: bool = False,
    expires_at: datetime | None = None,
    application: Application | None = None,
) -> tuple[ApiKey, str]:
    """Create a key for `group`, `groups` or all groups; return it with its raw text, which cannot
    be seen again. Without `expires_at` it ends when the key of `by` does, and without
    `application` it belongs where that key does.

    Raises KeyRefused for a key that could do nothing, DelegationRefused for one that could do
    more than `by`.
    """
    hold_credential(by)
    # Raise KeyRefused for a name that imitates another: approvals show it.
    try:
        check_plain_name(name)
    except ValidationError as problem:
        raise KeyRefused(problem.message) from problem
    covered = [candidate for candidate in (group, *groups) if candidate is not None]
    requested, rank = check_new_key(
        by=by, scopes=scopes, groups=covered, all_groups=all_groups, owner=owner,
        acts_for_users=acts_for_users, expires_at=expires_at, application=application,
    )  # fmt: skip
    key, raw = _store(by, name=name, wanted=requested, rank=rank, groups=covered)
    record(
        by=by, action="key.created", target=str(key), details=_details(key), groups=_groups_of(key)
    )
    return key, raw


@sensitive_variables("raw")
@transaction.atomic
def rotate_key(
    *,
    by: Actor,
    key: ApiKey,
    overlap: timedelta = OVERLAP,
    lifetime: timedelta | None = None,
) -> tuple[ApiKey, str]:
    """Create a successor with the same power. The old key goes on for `overlap`; the new one ends
    after `lifetime`, or else when the old one would have.

    Whoever rotates a key gets its successor, and so must hold all that it can do: raises
    DelegationRefused otherwise.
    """
    hold_credential(by)
    # The key, locked. Raise KeyRefused if it was revoked meanwhile.
    locked = ApiKey.objects.select_for_update(no_key=True).filter(pk=key.pk, revoked_at=None)
    if (current := locked.first()) is None:
        raise KeyRefused(_("This key has been revoked."))
    key = current
    end = database_now() + lifetime if lifetime else key.expires_at
    groups = {group.pk: group for group in key.groups.all()}
    reach = None if key.all_groups else frozenset(groups)
    requested = RequestedKey(
        frozenset(key.scopes), reach, key.owner, key.acts_for_users, end, key.application_id
    )
    rank = min(check_key_authority(by, requested), Rank(key.rank))
    successor, raw = _store(by, name=key.name, wanted=requested, rank=rank, groups=groups.values())
    limit = Now() + overlap
    ends_at = Least(Coalesce(F("expires_at"), limit), limit)
    ApiKey.objects.filter(pk=key.pk).update(expires_at=ends_at, replaced_at=Now())
    details = {
        **_details(successor),
        "successor": successor.prefix,
        "overlap_minutes": overlap // timedelta(minutes=1),
    }
    record(by=by, action="key.rotated", target=str(key), details=details, groups=_groups_of(key))
    return successor, raw


@transaction.atomic
def revoke_key(*, by: Actor, key: ApiKey) -> None:
    """End the key and those that were made with it: their very next requests are refused. Whoever
    had a stolen key would else keep what they made of it."""
    ending = _lock_with_descendants(key)
    descendants = ApiKey.objects.filter(pk__in=ending - {key.pk}, revoked_at=None).order_by("pk")
    ended = list(descendants.values_list("prefix", flat=True))
    ApiKey.objects.filter(pk__in=ending, revoked_at=None).update(revoked_at=Now())
    Invitation.objects.filter(made_with__in=ending, accepted_at=None, withdrawn_at=None).update(
        withdrawn_at=Now()
    )
    keys_ended.send(sender=ApiKey, keys=ending)
    details = {**_details(key), **({"made_with_it": ended} if ended else {})}
    record(by=by, action="key.revoked", target=str(key), details=details, groups=_groups_of(key))


def _lock_with_descendants(key: ApiKey) -> set[int]:
    """Lock the key and those made with it. A request that makes another one meanwhile holds the
    lock of its own key, so what it made is there once all locks are ours."""
    locked: set[int] = set()
    while (ending := {key.pk, *made_with(key)}) - locked:
        rows = ApiKey.objects.select_for_update(no_key=True).filter(pk__in=ending).order_by("pk")
        locked = set(rows.values_list("pk", flat=True))
    return locked


def made_with(key: ApiKey) -> list[int]:
    """Return the keys that were made with this one, with those, and so on."""
    with connection.cursor() as cursor:
        cursor.execute(_MADE_WITH, {"key": key.pk})
        return [pk for (pk,) in cursor.fetchall()]


_MADE_WITH = """
WITH RECURSIVE made AS (
  SELECT id FROM acl_apikey WHERE made_with_id = %(key)s
  UNION SELECT k.id FROM acl_apikey k JOIN made ON made.id = k.made_with_id
)
SELECT id FROM made
"""


def check_new_key(
    *,
    by: Actor,
    scopes: Iterable[str],
    groups: Iterable[Group],
    all_groups: bool,
    owner: User | None,
    acts_for_users: bool,
    expires_at: datetime | None,
    application: Application | None = None,
) -> tuple[RequestedKey, Rank]:
    """Return the power and the rank of the key that `create_key` would make; raise as it does."""
    authority = authority_of(by)
    covered, end = {group.pk: group for group in groups}, expires_at or authority.ends_at
    application_id = application.pk if application else authority.application
    if owner is not None:
        owner = User.objects.get(pk=owner.pk)  # with the flags of this moment
    check_key(scopes=scopes, owner=owner, acts_for_users=acts_for_users)
    _check_groups(covered, all_groups=all_groups, owner=owner, acts_for_users=acts_for_users)
    reach = None if all_groups else frozenset(covered)
    requested = RequestedKey(frozenset(scopes), reach, owner, acts_for_users, end, application_id)
    return requested, check_key_authority(by, requested)


def check_key(*, scopes: Iterable[str], owner: User | None, acts_for_users: bool) -> None:
    """Raise KeyRefused if such a key could do nothing."""
    chosen = set(scopes)
    if chosen - set(ApiKey.Scope.values) or not chosen:
        raise KeyRefused(
            _("Choose at least one of these scopes: %(scopes)s.")
            % {"scopes": ", ".join(ApiKey.Scope.values)}
        )
    if not owner and not acts_for_users and chosen != {ApiKey.Scope.ADMIN}:
        raise KeyRefused(_("The key needs an owner, or must be allowed to act for users."))


def _check_groups(
    groups: dict[int, Group], *, all_groups: bool, owner: User | None, acts_for_users: bool
) -> None:
    if all_groups and groups:
        raise KeyRefused(_("A key works in all groups or in the groups that are named, not both."))
    if not all_groups and not groups:
        raise KeyRefused(_("The key needs a group."))
    if all_groups and not owner and not acts_for_users:
        raise KeyRefused(
            _("A key for all groups needs an owner, or must be allowed to act for users.")
        )
    if owner is None or all_groups:
        return
    if outside := set(groups) - set(owner.groups.values_list("pk", flat=True)):
        names = ", ".join(sorted(groups[pk].name for pk in outside))
        raise KeyRefused(
            _("%(user)s is not a member of %(groups)s.")
            % {"user": owner.get_username(), "groups": names}
        )


@sensitive_variables("raw")
def _store(
    by: Actor,
    *,
    name: str,
    wanted: RequestedKey,
    rank: Rank,
    groups: Iterable[Group],
) -> tuple[ApiKey, str]:
    maker = by.key_id if isinstance(by, KeyHolder) else None
    raw = PREFIX + secrets.token_urlsafe(RANDOM_BYTES)
    key = ApiKey.objects.create(
        name=name,
        all_groups=wanted.groups is None,
        owner=wanted.owner,
        acts_for_users=wanted.acts_for_users,
        scopes=sorted(wanted.scopes),
        rank=rank,
        prefix=raw[:SHOWN_CHARACTERS],
        digest=digest_of(raw),
        expires_at=wanted.expires_at,
        created_by=person_behind(by),
        made_with_id=maker,
        application_id=wanted.application,
    )
    key.groups.set(groups)
    return key, raw


@sensitive_variables("raw")
def digest_of(raw: str) -> str:
    """Return what is stored of a key."""
    return sha256(raw.encode()).hexdigest()


@sensitive_variables("raw")
def holder_of(raw: str) -> KeyHolder | None:
    """Recognise a raw key in one statement. None if it, or its owner, may not act any more."""
    return _recognise(_RECOGNISE, {"digest": digest_of(raw)})


def current_holder(key: ApiKey) -> KeyHolder | None:
    """Return what the key holds at this moment, without noting a use; None if it has ended."""
    return _holder_in(rows_of(_RECOGNISE + _KNOWN, {"digest": key.digest}, twice=True))


def may_still_act(principal: KeyHolder | User) -> bool:
    """Return True while a key or an account that was recognised before is still valid.

    For streams that last: what it may use is read with its rights anyway.
    """
    if not isinstance(principal, KeyHolder):
        return User.objects.filter(pk=principal.pk, is_active=True).exists()
    return ApiKey.objects.filter(IN_FORCE, pk=principal.key_id).exists()


@sensitive_variables("raw")
def holder_of_token(raw: str, resource: str) -> KeyHolder | None:
    """Recognise the access token of a client that was connected to `resource`, in one statement.

    None also for a token of another resource: it was not given for this one.
    """
    holder = _recognise(_RECOGNISE_TOKEN, {"digest": digest_of(raw), "resource": resource})
    return replace(holder, is_connection=True) if holder else None


def _recognise(statement: str, parameters: dict[str, str]) -> KeyHolder | None:
    rows = write_if_room(
        lambda: rows_of(statement + _NOTE_USE + _KNOWN, parameters, twice=True),
        otherwise=lambda: rows_of(statement + _KNOWN, parameters),
    )
    return _holder_in(rows)


def _holder_in(rows: Sequence[Any]) -> KeyHolder | None:
    if not rows:
        return None
    [row] = rows
    key_id, name, prefix, owner_id, acts_for_users, scopes, groups, all_groups, rank, end = row[:10]
    application = row[10]
    return KeyHolder(
        key_id, name, prefix, owner_id, acts_for_users, frozenset(scopes),
        group_ids=None if groups is None else frozenset(groups),
        all_groups=all_groups,
        rank=Rank(rank),
        expires_at=end,
        application=KeyApplication(**parse_json(application)) if application else None,
    )  # fmt: skip


# Recognising a key and noting its use are one statement, so a key stops in the instant in which its
# owner is deactivated, loses the staff flag that the key was made with, or leaves its last group.
# A key covers no group that its owner has left. Use is noted once a minute, by the database's
# clock, and never waits for a lock. A database without room to write notes nothing, and keys work.
_RECOGNISE = """
WITH known AS (
  SELECT k.id, k.name, k.prefix, k.owner_id, k.acts_for_users, k.scopes, k.all_groups, k.expires_at,
         CASE WHEN k.all_groups AND k.acts_for_users THEN NULL
              WHEN k.all_groups THEN ARRAY(
                SELECT m.group_id FROM auth_user_groups m WHERE m.user_id = k.owner_id)
              ELSE ARRAY(
                SELECT g.group_id FROM acl_apikey_groups g
                WHERE g.apikey_id = k.id AND (k.owner_id IS NULL OR g.group_id IN (
                  SELECT m.group_id FROM auth_user_groups m WHERE m.user_id = k.owner_id)))
         END AS groups,
         CASE WHEN NOT COALESCE(owner.is_staff, false) THEN 0
              WHEN owner.is_superuser THEN k.rank ELSE LEAST(k.rank, 1) END AS rank,
         CASE WHEN a.id IS NOT NULL THEN jsonb_build_object(
           'id', a.id, 'name', a.name, 'defaults', a.defaults, 'calls_a_minute', a.calls_a_minute,
           'calls_a_day', a.calls_a_day, 'tokens_a_day', a.tokens_a_day,
           'cpu_a_minute', a.cpu_a_minute)::text END AS application
  FROM acl_apikey k LEFT JOIN auth_user owner ON owner.id = k.owner_id
  LEFT JOIN acl_application a ON a.id = k.application_id
  WHERE k.digest = %(digest)s::text AND k.revoked_at IS NULL
    AND (k.expires_at IS NULL OR k.expires_at > now())
    AND COALESCE(owner.is_active, true) AND (k.rank = 0 OR owner.is_staff)
)
"""
_RECOGNISE_TOKEN = _RECOGNISE.replace(
    "k.digest = %(digest)s::text",
    """k.id = (
    SELECT c.key_id FROM acl_clienttoken t JOIN acl_clientconnection c ON c.id = t.connection_id
    WHERE t.digest = %(digest)s::text AND t.kind = 'access' AND t.expires_at > now()
      AND c.resource = %(resource)s::text)""",
)
_NOTE_USE = """
, stale AS (
  SELECT k.id FROM acl_apikey k JOIN known ON known.id = k.id
  WHERE k.last_used_at IS NULL OR k.last_used_at < now() - interval '1 minute'
  FOR NO KEY UPDATE OF k SKIP LOCKED
), noted AS (
  UPDATE acl_apikey SET last_used_at = now() WHERE id IN (SELECT id FROM stale)
)
"""
_KNOWN = """
SELECT id, name, prefix, owner_id, acts_for_users, scopes, groups, all_groups, rank, expires_at,
       application
FROM known WHERE groups IS NULL OR cardinality(groups) > 0
"""


def _groups_of(key: ApiKey) -> set[int]:
    """Return the groups that the key works in."""
    if not key.all_groups:
        groups = key.groups.all()
    elif key.owner is None or key.acts_for_users:
        groups = Group.objects.all()
    else:
        groups = key.owner.groups.all()
    return set(groups.values_list("pk", flat=True))


def _details(key: ApiKey) -> dict[str, object]:
    return {
        "groups": key.scope_of_groups,
        "scopes": key.scopes,
        "owner": key.owner.get_username() if key.owner else None,
        "acts_for_users": key.acts_for_users,
        "expires_at": key.expires_at.isoformat() if key.expires_at else None,
        **({"application": key.application.name} if key.application else {}),
    }
