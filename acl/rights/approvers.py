"""Approvers: the one rule for who may decide about a call, with which credential.

The API, the pages, their lists and counts all use it. An asker cannot decide, by any credential or
account. The askers of a call are its user, its actor, and the owner and creator of the key that
asked and of the keys that made this key. A service account stands for everyone who owns or created
one of its keys. An approver's key is followed the same way: if an asker owns, created or made it,
it cannot decide.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from acl.actor import CredentialKind, current_chain
from acl.models import ApiKey
from acl.platform.database_connections import rows_of

NOT_A_PERSON = gettext_noop("Only a person may decide. The key needs a person as its owner.")
NOBODY_ELSE = gettext_noop(
    "Only the requester could approve this call. Add another admin under People, or set "
    "PEGBOARD_SELF_APPROVAL=true if one person runs this installation."
)


class WhoApproves(StrEnum):
    """Role that may approve a caller's calls. It names nobody: the caller may not see them."""

    ADMIN = "admin"
    OTHER_ADMIN = "other_admin"  # the caller is an admin, and may not approve their own calls
    YOURSELF = "yourself"
    NOBODY = "nobody"

    @property
    def of_each_call(self) -> str:
        """Return who approves the calls of a tool, in a sentence."""
        return str(_OF_EACH_CALL[self])

    @property
    def of_this_call(self) -> str:
        """Return who must approve a pending call, in a sentence. It is answered by the API."""
        return _OF_THIS_CALL[self]


_OF_EACH_CALL = {
    WhoApproves.ADMIN: gettext_lazy("An admin approves each call."),
    WhoApproves.OTHER_ADMIN: gettext_lazy("Another admin approves each call."),
    WhoApproves.YOURSELF: gettext_lazy("You or another admin approve each call."),
    WhoApproves.NOBODY: gettext_lazy(
        "Nobody can approve its calls: an admin must add another admin, or allow self-approval."
    ),
}
_OF_THIS_CALL = {
    WhoApproves.ADMIN: "An admin must approve this call first.",
    WhoApproves.OTHER_ADMIN: "Another admin must approve this call first.",
    WhoApproves.YOURSELF: "You or another admin must approve this call first.",
    WhoApproves.NOBODY: "A person must approve this call first.",
}


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

    def overlaps(self, identities: "LinkedIdentities") -> bool:
        """Return True if they share a person or a key."""
        return bool(self.people & identities.people or self.keys & identities.keys)


Identity = tuple[tuple[int, ...], int | None]  # user ids, and a key id if there is one


@dataclass(frozen=True, slots=True)
class IdentityLinks:
    """Linked identities of the callers asked about, and of everyone who may decide at all."""

    linked: dict[Identity, LinkedIdentities]
    deciders: frozenset[int]
    by_session: frozenset[int]  # of the deciders, those who need no key for it
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
    approver_identity: Identity = (
        (approver.person_id,) if approver.person_id else (),
        approver.key_id,
    )
    relations = _load_links({*identities.values(), approver_identity})
    return {
        call.pk: Eligibility(
            _objection(
                call,
                relations.linked[identities[call.pk]],
                approver,
                relations.linked[approver_identity],
            )
            if approver.person_id in relations.deciders
            else _(NOT_A_PERSON),
            _is_stuck(relations.linked[identities[call.pk]], relations.linked_to_deciders),
        )
        for call in calls
    }


def who_approves(call: CallRow) -> WhoApproves:
    """Return who may approve a pending call."""
    return _who_approves(_identity_of(call), call.user_id)


def who_approves_calls_of(user_id: int, *, alone: bool = False) -> WhoApproves:
    """Return who may approve a user's calls, made with the key of the current request if it has
    one.

    With `alone` the user asks in person, whoever reads the answer.
    """
    credential = current_chain().credential
    is_key = credential.kind == CredentialKind.KEY and not alone
    return _who_approves(((user_id,), credential.id if is_key else None), user_id)


def _who_approves(askers: Identity, user_id: int) -> WhoApproves:
    relations = _load_links({askers})
    if _is_stuck(relations.linked[askers], relations.linked_to_deciders):
        return WhoApproves.NOBODY
    if user_id not in relations.by_session:
        return WhoApproves.ADMIN
    may_approve_self = settings.PEGBOARD_SELF_APPROVAL
    return WhoApproves.YOURSELF if may_approve_self else WhoApproves.OTHER_ADMIN


def _identity_of(call: CallRow) -> Identity:
    people = (call.user_id,) if call.actor_id is None else (call.user_id, call.actor_id)
    return people, call.key_id


def _objection(
    call: CallRow, askers: LinkedIdentities, approver: Approver, approver_links: LinkedIdentities
) -> str:
    # The setting trusts a person in the browser. A key that both asks and approves would be
    # no approval.
    if settings.PEGBOARD_SELF_APPROVAL and approver.key_id is None:
        return ""
    if approver.person_id == call.user_id:
        return _("The call was made for you, so someone else must decide.")
    if approver.person_id == call.actor_id and call.key_id is None:
        return _("You requested this call, so someone else must decide.")
    if approver.person_id in askers.people:
        return _("You own or created the key that made this call, so someone else must decide.")
    if approver_links.overlaps(askers):
        return _("Your key belongs to the requester or was created by them, so it cannot decide.")
    return ""


def _is_stuck(askers: LinkedIdentities, deciders: Iterable[LinkedIdentities]) -> bool:
    may_ask_and_decide = settings.PEGBOARD_SELF_APPROVAL
    return not (may_ask_and_decide or any(not decider.overlaps(askers) for decider in deciders))


def _load_links(identities: Iterable[Identity]) -> IdentityLinks:
    numbered = list(identities)
    linked = [LinkedIdentities(set(people), {key} if key else set()) for people, key in numbered]
    members = [
        (number, key, person)
        for number, identity in enumerate(linked)
        for key, person in [
            *((None, user_id) for user_id in identity.people),
            *((key, None) for key in identity.keys),
        ]
    ]
    columns = {name: [row[place] for row in members] for place, name in enumerate(_COLUMNS)}
    deciders: dict[int, LinkedIdentities] = {}
    people: dict[int, int] = {}
    rows = rows_of(_LINKS, {**columns, "admin": ApiKey.Scope.ADMIN})
    for number, key, person, decider in rows:
        identity = (
            linked[number] if number >= 0 else deciders.setdefault(number, LinkedIdentities())
        )
        identity.keys |= {key} - {None}
        identity.people |= {person} - {None}
        people |= {number: decider} if decider else {}
    by_session = (person for number, person in people.items() if not deciders[number].keys)
    return IdentityLinks(
        dict(zip(numbered, linked, strict=True)),
        frozenset(people.values()),
        frozenset(by_session),
        tuple(deciders.values()),
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
