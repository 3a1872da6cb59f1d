"""The admin of turns, outcomes and alerts: to look at, since they are what happened."""

from django.contrib import admin
from unfold.admin import TabularInline

from acl.admin.parts import ReadOnlyAdmin
from discovery.models import Called, Outcome, OutcomeAlert, Turn


@admin.register(Turn)
class TurnAdmin(ReadOnlyAdmin):
    list_display = (
        "created_at", "user", "group", "state", "mode", "tokens_selected", "tokens_all",
        "milliseconds",
    )  # fmt: skip
    list_filter = ("group", "state", "mode", "created_at")
    list_select_related = ("user", "group")
    search_fields = ("id", "user__username", "group__name", "message")
    date_hierarchy = "created_at"


class CalledInline(TabularInline):  # type: ignore[misc]  # unfold has no types
    model = Called
    fields = readonly_fields = ("full_name", "selected")
    can_delete = False
    extra = max_num = 0


@admin.register(Outcome)
class OutcomeAdmin(ReadOnlyAdmin):
    list_display = ("at", "group", "status", "score", "source", "called_known", "called_selected")
    list_filter = ("status", "source", "group", "at")
    list_select_related = ("group",)
    search_fields = ("turn__id", "group__name", "note")
    raw_id_fields = ("space",)
    inlines = (CalledInline,)


@admin.register(OutcomeAlert)
class OutcomeAlertAdmin(ReadOnlyAdmin):
    list_display = ("at", "scope", "severity", "reason", "value", "threshold", "samples")
    list_filter = ("severity", "group", "at")
    search_fields = ("scope", "group__name", "reason")
    raw_id_fields = ("space",)
