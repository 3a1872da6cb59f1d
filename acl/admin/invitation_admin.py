"""Read-only admin of invitations. The People page creates and withdraws them, showing the link."""

from django.contrib import admin

from acl.admin.admin_base import ReadOnlyAdmin
from acl.models import Invitation


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyAdmin):
    list_display = ("email", "role", "by", "created_at", "expires_at", "accepted_at")
    list_filter = ("role", "created_at")
    list_select_related = ("by",)
    search_fields = ("email",)
    exclude = ("digest",)
