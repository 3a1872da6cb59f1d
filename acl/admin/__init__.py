"""The admin of people, groups, spaces, keys and the audit log."""

from acl.admin.key_admin import ApiKeyAdmin
from acl.admin.people_admin import GroupAdmin, GroupPolicyAdmin, SpaceAdmin, UserAdmin
from acl.admin.record_admin import AccessRequestAdmin, AuditEntryAdmin, InvitationAdmin

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
