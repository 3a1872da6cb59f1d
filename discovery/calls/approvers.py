"""Approvers: may this person, with this credential, decide about this call?

The one rule, asked by the API, the pages, their lists and counts. Whoever asked does not decide, by
whatever credential or name. A call's askers are its user, its actor, and whoever owns or created
the key that asked, or a key that this key was made with. A service account stands for everybody who
owns or created one of its keys. An approver's key is followed in the same way: a key that an asker
owns, created or made is an asker.
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


class Asked(Protocol):
    """The columns of a call that say who asked."""

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
    """A person, and the key that they use, if any."""

    person_id: int | None
    key_id: int | None = None


@dataclass(frozen=True, slots=True)
class Eligibility:
    """May the approver decide? `objection` says why not; `stuck` that nobody else could."""

    objection: str = ""
    stuck: bool = False


@dataclass(slots=True)
class Kin:
    """People and keys that count as one with a credential."""

    people: set[int] = field(default_factory=set)
    keys: set[int] = field(default_factory=set)

    def meets(self, other: "Kin") -> bool:
        """Return True if they have a person or a key in common."""
        return bool(self.people & other.people or self.keys & other.keys)


Start = tuple[tuple[int, ...], int | None]  # people, and perhaps a key


@dataclass(frozen=True, slots=True)
class Relations:
    """The kin of some starts, and everybody who may decide about anything, with their kin."""

    kin: dict[Start, Kin]
    deciders: frozenset[int]
    kin_of_deciders: tuple[Kin, ...]


def approver_of(person: User | None) -> Approver:
    """Return the person with the credential of the request at hand."""
    credential = current_chain().credential
    key_id = credential.id if credential.kind == CredentialKind.KEY else None
    return Approver(person.pk if person else None, key_id)


def eligibility_of(calls: Sequence[Asked], approver: Approver) -> dict[UUID, Eligibility]:
    """Return the verdict about each call, in one statement for all of them."""
    if not calls:
        return {}
    starts = {call.pk: _start_of(call) for call in calls}
    own: Start = ((approver.person_id,) if approver.person_id else (), approver.key_id)
    relations = _relations({*starts.values(), own})
    return {
        call.pk: Eligibility(
            _objection(call, relations.kin[starts[call.pk]], approver, relations.kin[own])
            if approver.person_id in relations.deciders
            else NOT_A_PERSON,
            _is_stuck(relations.kin[starts[call.pk]], relations.kin_of_deciders),
        )
        for call in calls
    }


def is_stuck(call: Asked) -> bool:
    """Return True if nobody but the asker could approve the call."""
    return eligibility_of([call], Approver(None))[call.pk].stuck


def _start_of(call: Asked) -> Start:
    people = (call.user_id,) if call.actor_id is None else (call.user_id, call.actor_id)
    return people, call.key_id


def _objection(call: Asked, askers: Kin, approver: Approver, own: Kin) -> str:
    # The setting trusts a person at the page. A key that asks and approves would be no approval.
    if settings.PEGBOARD_SELF_APPROVAL and approver.key_id is None:
        return ""
    if approver.person_id == call.user_id:
        return "It was asked for you: somebody else has to decide."
    if approver.person_id == call.actor_id and call.key_id is None:
        return "You asked for it: somebody else has to decide."
    if approver.person_id in askers.people:
        return "You own or created the key that asked: somebody else has to decide."
    if own.meets(askers):
        return "Your key belongs to whoever asked, or was made by them: it cannot decide."
    return ""


def _is_stuck(askers: Kin, deciders: Iterable[Kin]) -> bool:
    may_ask_and_decide = settings.PEGBOARD_SELF_APPROVAL
    return not (may_ask_and_decide or any(not one.meets(askers) for one in deciders))


def _relations(starts: Iterable[Start]) -> Relations:
    numbered = list(starts)
    kin = [Kin(set(people), {key} if key else set()) for people, key in numbered]
    members = [
        (number, key, person)
        for number, one in enumerate(kin)
        for key, person in [
            *((None, each) for each in one.people),
            *((key, None) for key in one.keys),
        ]
    ]
    columns = {name: [row[place] for row in members] for place, name in enumerate(_COLUMNS)}
    deciders: dict[int, Kin] = {}
    people: set[int] = set()
    rows = rows_of(_RELATIONS, {**columns, "admin": ApiKey.Scope.ADMIN})
    for number, key, person, decider in rows:
        one = kin[number] if number >= 0 else deciders.setdefault(number, Kin())
        one.keys |= {key} - {None}
        one.people |= {person} - {None}
        people |= {decider} - {None}
    kin_of_deciders = tuple(deciders.values())
    return Relations(dict(zip(numbered, kin, strict=True)), frozenset(people), kin_of_deciders)


_COLUMNS = ("starts", "keys", "people")


# Who may decide about anything: active staff in a session, and people by their keys with the scope
# admin; their numbers are negative. UNION, not UNION ALL: it ends where nobody new is found, in
# circles too.
_RELATIONS = """
WITH RECURSIVE decider AS (
  SELECT -row_number() OVER () AS start, each.key, each.person FROM (
    SELECT NULL::bigint AS key, u.id AS person FROM auth_user u WHERE u.is_active AND u.is_staff
    UNION ALL
    SELECT k.id, u.id FROM acl_apikey k JOIN auth_user u ON u.id = k.owner_id
    WHERE u.is_active AND %(admin)s::text = ANY (k.scopes) AND k.revoked_at IS NULL
      AND (k.expires_at IS NULL OR k.expires_at > now())) each
  WHERE NOT EXISTS (SELECT FROM acl_serviceaccount s WHERE s.user_id = each.person)
), kin(start, key, person) AS (
  (SELECT * FROM unnest(%(starts)s::bigint[], %(keys)s::bigint[], %(people)s::bigint[])
   UNION ALL SELECT start, key, NULL FROM decider WHERE key IS NOT NULL
   UNION ALL SELECT start, NULL, person FROM decider)
  UNION
  SELECT kin.start, next.key, next.person FROM kin CROSS JOIN LATERAL (
    SELECT NULL::bigint AS key, k.owner_id::bigint AS person FROM acl_apikey k WHERE k.id = kin.key
    UNION ALL
    SELECT NULL, k.created_by_id FROM acl_apikey k WHERE k.id = kin.key
    UNION ALL
    SELECT k.made_with_id, NULL FROM acl_apikey k WHERE k.id = kin.key
    UNION ALL
    SELECT k.id, NULL FROM acl_apikey k JOIN acl_serviceaccount s ON s.user_id = k.owner_id
    WHERE k.owner_id = kin.person
  ) next
  WHERE next.key IS NOT NULL OR next.person IS NOT NULL
)
SELECT kin.start, kin.key, kin.person, decider.person
FROM kin LEFT JOIN decider ON decider.start = kin.start
"""
