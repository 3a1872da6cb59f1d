"""Spaces and group policies."""

from django.contrib import admin
from django.http import HttpRequest

from acl.admin.parts import AuditedAdmin
from acl.models import GroupPolicy, Space


@admin.register(Space)
class SpaceAdmin(AuditedAdmin):
    list_display = ("name", "group", "parent", "slug")
    list_filter = ("group",)
    list_select_related = ("group", "parent__group")
    search_fields = ("name", "slug", "group__name")
    autocomplete_fields = ("group", "parent")
    prepopulated_fields = {"slug": ("name",)}
    ordering = ("group__name", "slug", "pk")

    def get_readonly_fields(self, request: HttpRequest, obj: Space | None = None) -> list[str]:
        """A space stays in its group, and the root at its place."""
        if obj is None:
            return []
        return ["group", "parent"] if obj.parent_id is None else ["group"]


@admin.register(GroupPolicy)
class GroupPolicyAdmin(AuditedAdmin):
    list_display = ("group", "open_default")
    list_filter = ("open_default",)
    list_select_related = ("group",)
    search_fields = ("group__name",)
    autocomplete_fields = ("group",)
    ordering = ("group__name", "pk")
