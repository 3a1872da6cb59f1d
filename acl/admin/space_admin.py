"""Admin of spaces, through the service, and of group policies."""

from typing import Any, cast

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from acl.admin.admin_base import AuditedAdmin
from acl.models import GroupPolicy, Space
from acl.people.spaces import SpaceRefused, create_space, delete_space, move_space, rename_space


class SpaceAdminForm(forms.ModelForm):
    """Form for the name and parent of a space."""

    def clean(self) -> dict[str, Any]:
        """Try the change in a savepoint, to show what the service would refuse."""
        data = super().clean() or {}
        if not self.errors:
            with transaction.atomic():
                try:
                    store(self.instance, data, by=None)
                except SpaceRefused as refused:
                    raise forms.ValidationError(str(refused)) from refused
                finally:
                    transaction.set_rollback(True)
        return data

    def _post_clean(self) -> None:
        """Skip model validation: the service stores the space and makes its slug."""


def store(space: Space, values: dict[str, Any], *, by: User | None) -> Space:
    """Create, rename or move the space through the service."""
    if space._state.adding:
        group, parent = values["group"], values.get("parent")
        return create_space(by=by, group=group, parent=parent, name=values["name"])
    stored = Space.objects.select_related("group").get(pk=space.pk)
    stored = rename_space(by=by, space=stored, name=values["name"])
    if values.get("parent"):
        stored = move_space(by=by, space=stored, parent=values["parent"])
    return stored


@admin.register(Space)
class SpaceAdmin(AuditedAdmin):
    form = SpaceAdminForm
    list_display = ("name", "group", "parent", "slug")
    list_filter = ("group",)
    list_select_related = ("group", "parent__group")
    search_fields = ("name", "slug", "group__name")
    autocomplete_fields = ("group", "parent")
    ordering = ("group__name", "slug", "pk")
    delete_confirmation_template = "admin/acl/space/delete.html"
    delete_selected_confirmation_template = "admin/acl/space/delete.html"

    def get_fields(self, request: HttpRequest, obj: Space | None = None) -> list[str]:
        return ["group", "parent", "name", *(["slug"] if obj else [])]

    def get_readonly_fields(self, request: HttpRequest, obj: Space | None = None) -> list[str]:
        """A space stays in its group and is named by its slug, and the root stays at its place."""
        if obj is None:
            return []
        return ["group", "slug", *(["parent"] if obj.parent_id is None else [])]

    def save_form(self, request: HttpRequest, form: Any, change: bool) -> Space:
        return cast(Space, form.instance)

    def save_model(self, request: HttpRequest, obj: Space, form: Any, change: bool) -> None:
        """Save through the service, which records the change."""
        stored = store(obj, form.cleaned_data, by=cast(User, request.user))
        obj.__dict__.update(stored.__dict__)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Do nothing: a space has no related forms."""

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Return what is deleted with the spaces; `request.spaces_that_stay` are their children.

        A root is protected here and not by a permission, which would protect its group as well.
        """
        going = list(objs)
        if roots := [str(space) for space in going if space.parent_id is None]:
            return [], {}, set(), roots
        with transaction.atomic():
            below = Space.objects.filter(parent__in=going).exclude(pk__in=[row.pk for row in going])
            request.spaces_that_stay = list(below.order_by("name", "pk"))  # type: ignore[attr-defined]
            for space in going:
                Space.objects.filter(parent=space).update(parent=space.parent_id)
            result = super().get_deleted_objects(going, request)
            transaction.set_rollback(True)
        return result

    def delete_model(self, request: HttpRequest, obj: Space) -> None:
        delete_space(by=cast(User, request.user), space=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Space]) -> None:
        with transaction.atomic():
            for space in queryset.select_related("group"):
                self.delete_model(request, space)

    # The service has recorded it; here it is only for the admin's own history.
    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        return super(AuditedAdmin, self).log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        return super(AuditedAdmin, self).log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet) -> Any:
        return super(AuditedAdmin, self).log_deletions(request, queryset)


@admin.register(GroupPolicy)
class GroupPolicyAdmin(AuditedAdmin):
    list_display = ("group", "open_default")
    list_filter = ("open_default",)
    list_select_related = ("group",)
    search_fields = ("group__name",)
    autocomplete_fields = ("group",)
    ordering = ("group__name", "pk")
