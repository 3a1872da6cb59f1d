"""Approvers: the one rule for who may decide about a call, with which credential.

The API, the pages, their lists and counts all use it. An asker cannot decide, by any credential or
account. The askers of a call are its user, its actor, and the owner and creator of the key that
asked and of the keys that made this key. A service account stands for everyone who owns or created
one of its keys. An approver's key is followed the same way: if an asker owns, created or made it,
it cannot decide.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User

from acl.actor.chain import CredentialKind
from acl.actor.request_context import current_chain
from acl.models import ApiKey
from acl.platform.prepared_statements import rows_of

NOT_A_PERSON = "Only a person may decide. The key needs one as its owner."
NOBODY_ELSE = (
    "Nobody but the asker could approve this call. Add another admin under People, or set "
    "PEGBOARD_SELF_APPROVAL=true if one person runs this installation."
)


class CallRow(Protocol):
    """Columns of a call that identify its askers."""

    @property
    def pk(self) -> UUID: ...
    @property
    def user_id(self) -> int: ...
    @property
    def actor_id(self) -> int | None: ...
    @property
    def key_id(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Approver:
    """A person and, if the request was made with one, their key."""

    person_id: int | None
    key_id: int | None = None


@dataclass(frozen=True, slots=True)
class Eligibility:
    """Result of the check: `objection` says why not; `stuck` means that no one else may decide."""

    objection: str = ""
    stuck: bool = False


@dataclass(slots=True)
class LinkedIdentities:
    """People and keys that count as the same identity."""

    people: set[int] = field(default_factory=set)
    keys: set[int] = field(default_factory=set)

    def overlaps(self, other: "LinkedIdentities") -> bool:
        """Return True if they share a person or a key."""
        return bool(self.people & other.people or self.keys & other.keys)


Identity = tuple[tuple[int, ...], int | None]  # user ids, and a key id if there is one


@dataclass(frozen=True, slots=True)
class IdentityLinks:
    """Linked identities of the callers asked about, and of everyone who may decide at all."""

    linked: dict[Identity, LinkedIdentities]
    deciders: frozenset[int]
    linked_to_deciders: tuple[LinkedIdentities, ...]


def approver_of(person: User | None) -> Approver:
    """Return the person with the credential of the current request."""
    credential = current_chain().credential
    key_id = credential.id if credential.kind == CredentialKind.KEY else None
    return Approver(person.pk if person else None, key_id)


def eligibility_of(calls: Sequence[CallRow], approver: Approver) -> dict[UUID, Eligibility]:
    """Check the approver against all calls, in one statement."""
    if not calls:
        return {}
    identities = {call.pk: _identity_of(call) for call in calls}
    own: Identity = ((approver.person_id,) if approver.person_id else (), approver.key_id)
    relations = _load_links({*identities.values(), own})
    return {
        call.pk: Eligibility(
            _objection(call, relations.linked[identities[call.pk]], approver, relations.linked[own])
            if approver.person_id in relations.deciders
            else NOT_A_PERSON,
            _is_stuck(relations.linked[identities[call.pk]], relations.linked_to_deciders),
        )
        for call in calls
    }


def is_stuck(call: CallRow) -> bool:
    """Return True if nobody but the askers could approve the call."""
    return eligibility_of([call], Approver(None))[call.pk].stuck


def _identity_of(call: CallRow) -> Identity:
    people = (call.user_id,) if call.actor_id is None else (call.user_id, call.actor_id)
    return people, call.key_id


def _objection(
    call: CallRow, askers: LinkedIdentities, approver: Approver, own: LinkedIdentities
) -> str:
    # The setting trusts a person in the browser. A key that both asks and approves would be
    # no approval.
    if settings.PEGBOARD_SELF_APPROVAL and approver.key_id is None:
        return ""
    if approver.person_id == call.user_id:
        return "It was asked for you: somebody else has to decide."
    if approver.person_id == call.actor_id and call.key_id is None:
        return "You asked for it: somebody else has to decide."
    if approver.person_id in askers.people:
        return "You own or created the key that asked: somebody else has to decide."
    if own.overlaps(askers):
        return "Your key belongs to whoever asked, or was made by them: it cannot decide."
    return ""


def _is_stuck(askers: LinkedIdentities, deciders: Iterable[LinkedIdentities]) -> bool:
    may_ask_and_decide = settings.PEGBOARD_SELF_APPROVAL
    return not (may_ask_and_decide or any(not one.overlaps(askers) for one in deciders))


def _load_links(identities: Iterable[Identity]) -> IdentityLinks:
    numbered = list(identities)
    linked = [LinkedIdentities(set(people), {key} if key else set()) for people, key in numbered]
    members = [
        (number, key, person)
        for number, one in enumerate(linked)
        for key, person in [
            *((None, each) for each in one.people),
            *((key, None) for key in one.keys),
        ]
    ]
    columns = {name: [row[place] for row in members] for place, name in enumerate(_COLUMNS)}
    deciders: dict[int, LinkedIdentities] = {}
    people: set[int] = set()
    rows = rows_of(_LINKS, {**columns, "admin": ApiKey.Scope.ADMIN})
    for number, key, person, decider in rows:
        one = linked[number] if number >= 0 else deciders.setdefault(number, LinkedIdentities())
        one.keys |= {key} - {None}
        one.people |= {person} - {None}
        people |= {decider} - {None}
    linked_to_deciders = tuple(deciders.values())
    return IdentityLinks(
        dict(zip(numbered, linked, strict=True)), frozenset(people), linked_to_deciders
    )


_COLUMNS = ("identities", "keys", "people")


# Deciders are active staff in a session, and owners of keys with the scope admin; their row numbers
# are negative. UNION, not UNION ALL, ends the recursion once it finds nobody new, also in cycles.
_LINKS = """
WITH RECURSIVE decider AS (
  SELECT -row_number() OVER () AS start, each.key, each.person FROM (
    SELECT NULL::bigint AS key, u.id AS person FROM auth_user u WHERE u.is_active AND u.is_staff
    UNION ALL
    SELECT k.id, u.id FROM acl_apikey k JOIN auth_user u ON u.id = k.owner_id
    WHERE u.is_active AND %(admin)s::text = ANY (k.scopes) AND k.revoked_at IS NULL
      AND (k.expires_at IS NULL OR k.expires_at > now())) each
  WHERE NOT EXISTS (SELECT FROM acl_serviceaccount s WHERE s.user_id = each.person)
), linked(start, key, person) AS (
  (SELECT * FROM unnest(%(identities)s::bigint[], %(keys)s::bigint[], %(people)s::bigint[])
   UNION ALL SELECT start, key, NULL FROM decider WHERE key IS NOT NULL
   UNION ALL SELECT start, NULL, person FROM decider)
  UNION
  SELECT linked.start, next.key, next.person FROM linked CROSS JOIN LATERAL (
    SELECT NULL::bigint AS key, k.owner_id::bigint AS person FROM acl_apikey k
    WHERE k.id = linked.key
    UNION ALL
    SELECT NULL, k.created_by_id FROM acl_apikey k WHERE k.id = linked.key
    UNION ALL
    SELECT k.made_with_id, NULL FROM acl_apikey k WHERE k.id = linked.key
    UNION ALL
    SELECT k.id, NULL FROM acl_apikey k JOIN acl_serviceaccount s ON s.user_id = k.owner_id
    WHERE k.owner_id = linked.person
  ) next
  WHERE next.key IS NOT NULL OR next.person IS NOT NULL
)
SELECT linked.start, linked.key, linked.person, decider.person
FROM linked LEFT JOIN decider ON decider.start = linked.start
"""
