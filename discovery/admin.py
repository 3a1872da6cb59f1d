"""The admin of turns: to look at, since they are what happened."""

from django.contrib import admin

from acl.admin.parts import ReadOnlyAdmin
from discovery.models import Turn


@admin.register(Turn)
class TurnAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "user", "group", "tokens_selected", "tokens_all", "milliseconds")
    list_filter = ("group", "created_at")
    list_select_related = ("user", "group")
    search_fields = ("id", "user__username", "group__name", "message")
    date_hierarchy = "created_at"
