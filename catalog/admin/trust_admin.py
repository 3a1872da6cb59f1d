"""Read-only admin of definitions, syncs and proposals. Decisions have pages of their own."""

from django.contrib import admin

from acl.admin.admin_base import ReadOnlyAdmin
from catalog.models import Definition, ServerProposal, Sync


@admin.register(Definition)
class DefinitionAdmin(ReadOnlyAdmin):
    list_display = ("integration", "name", "standing", "approved_by", "approved_at", "changed_at")
    list_filter = ("standing",)
    list_select_related = ("integration", "approved_by")
    search_fields = ("integration__slug", "name")


@admin.register(Sync)
class SyncAdmin(ReadOnlyAdmin):
    list_display = ("integration", "synced_at", "cause", "reason", "unreadable")
    list_filter = ("cause", "reason")
    list_select_related = ("integration",)
    search_fields = ("integration__slug",)


@admin.register(ServerProposal)
class ServerProposalAdmin(ReadOnlyAdmin):
    list_display = ("name", "endpoint", "user", "group", "state", "created_at")
    list_filter = ("state",)
    list_select_related = ("user", "group")
    search_fields = ("name", "endpoint", "user__username", "group__name")
    exclude = ("actor", "key")  # may be deleted; kinds, prefix and name are copied
