"""Admin of rows that only pages and services write: the audit log, invitations, requests."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from acl.admin.admin_base import AuditedAdmin, ReadOnlyAdmin
from acl.models import (
    AccessRequest,
    Application,
    AuditArchive,
    AuditEntry,
    AuditHead,
    Invitation,
    Look,
    PersonLanguage,
    ReplicaBeat,
    RightsChange,
    RightsPeriod,
    ScimRecord,
    SignInGroup,
)


@admin.register(AccessRequest)
class AccessRequestAdmin(AuditedAdmin):
    """Admin that can only delete: the Access page answers requests."""

    list_display = ("wish", "user", "group", "state", "created_at", "answered_by", "answered_at")
    list_filter = ("state", "group", "created_at")
    list_select_related = ("user", "group", "answered_by")
    search_fields = ("wish", "user__username", "group__name")

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Application)
class ApplicationAdmin(ReadOnlyAdmin):
    """Read-only admin: the page Applications and the API keep them, with their keys."""

    list_display = ("name", "group", "calls_a_day", "created_at")
    list_select_related = ("group",)
    search_fields = ("name", "group__name")


@admin.register(SignInGroup)
class SignInGroupAdmin(ReadOnlyAdmin):
    list_display = ("value", "group")
    list_select_related = ("group",)
    search_fields = ("value", "group__name")
    ordering = ("value", "group__name", "pk")


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyAdmin):
    """Read-only admin: the People page creates and withdraws invitations, and shows the link."""

    list_display = ("email", "role", "by", "created_at", "expires_at", "accepted_at")
    list_filter = ("role", "created_at")
    list_select_related = ("by",)
    search_fields = ("email",)
    exclude = ("digest",)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    list_display = ("number", "at", "by_name", "credential", "subject_name", "action", "target")
    list_filter = ("action", "at", "actor_kind")
    search_fields = ("target", "action", "by_name", "subject_name")
    exclude = ("by",)  # who may be gone; the name is there
    date_hierarchy = "at"


@admin.register(AuditArchive)
class AuditArchiveAdmin(ReadOnlyAdmin):
    list_display = ("file", "number", "at", "checksum")
    search_fields = ("file",)


@admin.register(Look)
class LookAdmin(ReadOnlyAdmin):
    list_display = ("hour", "viewer_id", "subject_id", "kind")
    search_fields = ("kind",)


@admin.register(AuditHead)
class AuditHeadAdmin(ReadOnlyAdmin):
    list_display = ("number", "digest")
    search_fields = ("digest",)


@admin.register(PersonLanguage)
class PersonLanguageAdmin(ReadOnlyAdmin):
    list_display = ("user", "code", "origin")
    list_select_related = ("user",)
    list_filter = ("code", "origin")
    search_fields = ("user__username",)


@admin.register(ReplicaBeat)
class ReplicaBeatAdmin(ReadOnlyAdmin):
    list_display = ("process", "number", "beaten_at")


@admin.register(ScimRecord)
class ScimRecordAdmin(ReadOnlyAdmin):
    list_display = ("external_id", "user", "group", "modified_at", "deleted_at")
    list_select_related = ("user", "group")
    search_fields = ("external_id", "user__username", "group__name")


@admin.register(RightsPeriod)
class RightsPeriodAdmin(ReadOnlyAdmin):
    """Read-only admin: the database's triggers write these rows."""

    list_display = ("table", "key", "began", "ended", "facts")
    list_filter = ("table", "began")
    search_fields = ("key",)


@admin.register(RightsChange)
class RightsChangeAdmin(ReadOnlyAdmin):
    """Read-only admin: the database's triggers write these rows."""

    list_display = ("subject", "key", "number")
    list_filter = ("subject",)
    search_fields = ("key",)
