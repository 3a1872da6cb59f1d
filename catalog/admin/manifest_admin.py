"""Read-only admin of the manifests in the watched folders."""

from django.contrib import admin
from django.contrib.admin import EmptyFieldListFilter

from acl.admin.admin_base import ReadOnlyAdmin
from catalog.models import ManifestFile


@admin.register(ManifestFile)
class ManifestFileAdmin(ReadOnlyAdmin):
    list_display = ("path", "capability", "problems", "changed_at")
    list_filter = (("problems", EmptyFieldListFilter), ("capability", EmptyFieldListFilter))
    list_select_related = ("capability",)
    search_fields = ("path", "problems", "capability__full_name")
