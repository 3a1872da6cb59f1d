"""Read-only admin of access requests. The Access page answers them."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from acl.admin.admin_base import AuditedAdmin
from acl.models import AccessRequest


@admin.register(AccessRequest)
class AccessRequestAdmin(AuditedAdmin):
    list_display = ("wish", "user", "group", "state", "created_at", "answered_by", "answered_at")
    list_filter = ("state", "group", "created_at")
    list_select_related = ("user", "group", "answered_by")
    search_fields = ("wish", "user__username", "group__name")

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
