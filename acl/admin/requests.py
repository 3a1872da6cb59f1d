"""What people have asked for."""

from django.contrib import admin

from acl.admin.parts import AuditedAdmin
from acl.models import AccessRequest


@admin.register(AccessRequest)
class AccessRequestAdmin(AuditedAdmin):
    list_display = ("wish", "user", "group", "state", "created_at")
    list_filter = ("state", "group", "created_at")
    list_select_related = ("user", "group")
    search_fields = ("wish", "user__username", "group__name")
    autocomplete_fields = ("user", "group")
    readonly_fields = ("created_at",)
