"""Who was invited. Inviting and withdrawing are on the People page, where the link is shown."""

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
