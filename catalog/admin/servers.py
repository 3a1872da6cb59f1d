"""How servers do, and which secrets they have: to look at, without the secrets."""

from django.contrib import admin
from django.contrib.admin import EmptyFieldListFilter

from acl.admin.parts import ReadOnlyAdmin
from catalog.models import HealthCheck, Secret


@admin.register(HealthCheck)
class HealthCheckAdmin(ReadOnlyAdmin):
    list_display = ("integration", "checked_at", "reason", "milliseconds", "tools")
    list_filter = ("reason", ("reason", EmptyFieldListFilter))
    list_select_related = ("integration",)
    search_fields = ("integration__slug", "reason", "last_words")


@admin.register(Secret)
class SecretAdmin(ReadOnlyAdmin):
    exclude = ("sealed",)
    list_display = ("integration", "name", "user", "set_at")
    list_select_related = ("integration", "user")
    search_fields = ("integration__slug", "name", "user__username")
