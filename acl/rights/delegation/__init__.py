"""Delegation: nobody hands out more power than they hold at that moment.

Whoever creates, rotates or extends a credential (a key, an invitation, a group membership, a staff
flag) is compared with what it would give. Pages, the API, Django's admin and the commands all ask
`_rules`; `authority` reads from the database how much power someone has.
"""

from acl.rights.delegation._rules import (
    DelegationRefused,
    RequestedKey,
    check_flags,
    check_group,
    check_groups,
    check_installation,
    check_invitation,
    check_key_authority,
    check_member,
    check_person,
    hold_credential,
    may_act_as,
    may_change_person,
)
from acl.rights.delegation.authority import (
    Actor,
    Authority,
    acts_for_others,
    authority_of,
    person_behind,
)

__all__ = [
    "Actor",
    "Authority",
    "DelegationRefused",
    "RequestedKey",
    "acts_for_others",
    "authority",
    "authority_of",
    "check_flags",
    "check_group",
    "check_groups",
    "check_installation",
    "check_invitation",
    "check_key_authority",
    "check_member",
    "check_person",
    "hold_credential",
    "key_holder",
    "may_act_as",
    "may_change_person",
    "person_behind",
]
