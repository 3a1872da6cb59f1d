"""The admin of people, groups, spaces, keys and the audit log."""

from acl.admin.invitations import InvitationAdmin
from acl.admin.keys import ApiKeyAdmin
from acl.admin.log import AuditEntryAdmin
from acl.admin.people import GroupAdmin, UserAdmin
from acl.admin.requests import AccessRequestAdmin
from acl.admin.spaces import GroupPolicyAdmin, SpaceAdmin

__all__ = [
    "AccessRequestAdmin",
    "ApiKeyAdmin",
    "AuditEntryAdmin",
    "GroupAdmin",
    "GroupPolicyAdmin",
    "InvitationAdmin",
    "SpaceAdmin",
    "UserAdmin",
]
