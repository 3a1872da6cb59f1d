"""The admin of people, groups, spaces, keys and the audit log."""

from acl.admin.audit_admin import AuditEntryAdmin
from acl.admin.invitation_admin import InvitationAdmin
from acl.admin.key_admin import ApiKeyAdmin
from acl.admin.people_admin import GroupAdmin, UserAdmin
from acl.admin.request_admin import AccessRequestAdmin
from acl.admin.space_admin import GroupPolicyAdmin, SpaceAdmin

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
