"""Read-only admin of the audit log."""

from django.contrib import admin

from acl.admin.admin_base import ReadOnlyAdmin
from acl.models import AuditEntry, AuditHead, Look


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    list_display = ("number", "at", "by_name", "credential", "subject_name", "action", "target")
    list_filter = ("action", "at", "actor_kind")
    search_fields = ("target", "action", "by_name", "subject_name")
    exclude = ("by",)  # who may be gone; the name is there
    date_hierarchy = "at"


@admin.register(Look)
class LookAdmin(ReadOnlyAdmin):
    list_display = ("hour", "viewer_id", "subject_id", "kind")
    search_fields = ("kind",)


@admin.register(AuditHead)
class AuditHeadAdmin(ReadOnlyAdmin):
    list_display = ("number", "digest")
    search_fields = ("digest",)
