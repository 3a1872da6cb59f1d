"""The admin of the shop's listings: their sources describe them."""

from django.contrib import admin

from acl.admin.parts import ReadOnlyAdmin
from marketplace.models import Listing


@admin.register(Listing)
class ListingAdmin(ReadOnlyAdmin):
    list_display = ("title", "slug", "kind", "source", "version", "publisher")
    list_filter = ("kind", "source")
    search_fields = ("title", "slug", "description", "publisher")
