"""Users, groups and spaces in the admin, with what Pegboard knows beside Django's own fields."""

from collections.abc import Callable, Iterable
from typing import Any, cast

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django import forms
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.db import transaction
from django.db.models import Count, Model, QuerySet
from django.http import HttpRequest
from unfold.admin import StackedInline, TabularInline
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from acl.admin.admin_base import AuditedAdmin, ReadOnlyAdmin
from acl.models import GroupPolicy, ServiceAccount, Space
from acl.people.groups import join_default_groups
from acl.people.people import end_sessions
from acl.people.spaces import SpaceRefused, create_space, delete_space, move_space, rename_space
from acl.rights.delegation import (
    DelegationRefused,
    authority_of,
    check_flags,
    check_groups,
    may_act_as,
    may_change_person,
)
from acl.rights.delegation.authority import permissions_by
from acl.visible_text.pieces import check_plain_name

# Users and groups, with what Pegboard knows of a group beside Django's own fields.

# Forms of the admin that hand out power: each asks the rules of delegation.


class PowerForm(forms.ModelForm):
    """Compares flags, groups and permissions with those of whoever fills in the form. Only what
    is new counts: who has more already was given it by someone else."""

    by: User  # set by the admin's class

    def ask_rules(self, check: Callable[[], None]) -> None:
        """Put a refusal of the rules beside its field."""
        try:
            check()
        except DelegationRefused as refused:
            self.add_error(refused.field if refused.field in self.fields else None, str(refused))

    def added(self, field: str, data: dict[str, Any]) -> list[Any]:
        """Return what the form adds to a many-to-many field."""
        chosen: Iterable[Any] = data.get(field) or ()
        current = set(getattr(self.instance, field).all()) if self.instance.pk else set()
        return [item for item in chosen if item not in current]


class PersonPowerForm(PowerForm, UserChangeForm):  # type: ignore[misc]  # unfold has no types
    """A person whose flags, groups and permissions may change."""

    def clean_username(self) -> str:
        """Refuse a new name that imitates another."""
        return _plain(self, "username")

    def clean(self) -> dict[str, Any]:
        """Ask about what the form adds."""
        data = super().clean() or {}
        flags = {
            name: bool(data.get(name)) and not self.initial.get(name, False)
            for name in ("is_staff", "is_superuser")
        }
        permissions = _names(self.added("user_permissions", data))
        self.ask_rules(lambda: check_flags(self.by, **flags, permissions=permissions))
        self.ask_rules(lambda: check_groups(self.by, self.added("groups", data)))
        return data


class NewPersonForm(UserCreationForm):  # type: ignore[misc]  # unfold has no types
    """A new person has a name and a password, and no power yet."""

    by: User  # set by the admin's class; nobody asks

    def clean_username(self) -> str:
        """Refuse a name that imitates another."""
        super().clean_username()
        return _plain(self, "username")


class GroupPowerForm(PowerForm):
    """A group whose permissions may change."""

    class Meta:
        model = Group
        fields = "__all__"  # noqa: DJ007 - Django's own two fields

    def clean_name(self) -> str:
        """Refuse a new name that imitates another."""
        return _plain(self, "name")

    def clean(self) -> dict[str, Any]:
        """Ask about the permissions that the form adds."""
        data = super().clean() or {}
        self.ask_rules(lambda: self._check(_names(self.added("permissions", data))))
        if self.instance.pk and "name" in self.changed_data:
            self.ask_rules(self._check_renaming)
        return data

    def _check_renaming(self) -> None:
        """Ask as adding a member does: a provider's mapping adds people to the group of a name."""
        try:
            check_groups(self.by, [self.instance])
        except DelegationRefused as refused:
            raise DelegationRefused("name", str(refused)) from refused

    def _check(self, added: frozenset[str]) -> None:
        try:
            check_flags(self.by, is_staff=False, is_superuser=False, permissions=added)
        except DelegationRefused as refused:
            raise DelegationRefused("permissions", str(refused)) from refused


def _plain(form: forms.ModelForm, field: str) -> str:
    """Return a name, checked if the form changes it: accounts keep the names that they have."""
    name: str = form.cleaned_data[field]
    if field in form.changed_data:
        check_plain_name(name)
    return name


def _names(permissions: Iterable[Permission]) -> frozenset[str]:
    return frozenset(
        f"{permission.content_type.app_label}.{permission.codename}" for permission in permissions
    )


admin.site.unregister(User)
admin.site.unregister(Group)
# What allauth would show here can be changed into an account: an address that is called confirmed,
# a provider's name for a person. People do that themselves, on pages that ask for the password.
for theirs in (Authenticator, EmailAddress, SocialAccount, SocialApp, SocialToken):
    admin.site.unregister(theirs)


@admin.register(User)
class UserAdmin(AuditedAdmin, DjangoUserAdmin):
    """Admin of users. Nobody may change people with more power, or grant more than they have."""

    form = PersonPowerForm
    add_form = NewPersonForm
    add_fieldsets = DjangoUserAdmin.add_fieldsets  # Unfold's own are empty
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "first_name", "last_name", "email", "is_active", "is_staff")
    list_filter = ("is_active", "is_staff", "is_superuser", "groups")
    filter_horizontal = ()
    autocomplete_fields = ("groups",)
    readonly_fields = ("last_login", "date_joined")

    def get_form(
        self, request: HttpRequest, obj: User | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """Pass the current user to the form."""
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        form.by = request.user
        return form

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Allow only superiors: setting someone's password or address takes over the account.

        The People page has the changes that do not need this.
        """
        allowed = super().has_change_permission(request, obj)
        return allowed and (obj is None or may_act_as(cast(User, request.user), obj))

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        allowed = super().has_delete_permission(request, obj)
        return allowed and (obj is None or may_change_person(cast(User, request.user), obj))

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Save the user. Deactivation ends all sessions, as on the People page."""
        super().save_model(request, obj, form, change)
        if not obj.is_active:
            end_sessions(obj)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Save the groups of the form; a new person also joins those that everyone joins."""
        super().save_related(request, form, formsets, change)
        if not change:
            join_default_groups(person=form.instance)


@admin.register(Permission)
class PermissionAdmin(ReadOnlyAdmin):
    list_display = ("codename", "name", "content_type")
    list_select_related = ("content_type",)
    search_fields = ("codename", "name", "content_type__model")


@admin.register(ServiceAccount)
class ServiceAccountAdmin(ReadOnlyAdmin):
    """Read-only admin of service accounts, which are created with their first key."""

    list_display = ("user", "description", "created_at")
    list_select_related = ("user",)
    search_fields = ("user__username", "description")


class PolicyInline(StackedInline):  # type: ignore[misc]  # unfold has no types
    model = GroupPolicy


class SpaceInline(TabularInline):  # type: ignore[misc]  # unfold has no types
    """Read-only inline of spaces. A space's own page changes the tree, through the service."""

    model = Space
    extra = 0
    fields = ("name", "slug", "parent")
    show_change_link = True
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Space | None = None) -> bool:
        return False


@admin.register(Group)
class GroupAdmin(AuditedAdmin, DjangoGroupAdmin):
    list_display = ("name", "members", "open_default")
    list_filter = ("policy__open_default",)
    filter_horizontal = ()
    autocomplete_fields = ("permissions",)
    inlines = (PolicyInline, SpaceInline)
    form = GroupPowerForm

    def get_form(
        self, request: HttpRequest, obj: Group | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """Pass the current user to the form."""
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        form.by = request.user
        return form

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        """Require the group's power, because members lose what it brings."""
        allowed = super().has_delete_permission(request, obj)
        return allowed and (obj is None or _has_all_of(request, obj))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Group]:
        groups: QuerySet[Group] = super().get_queryset(request)
        return groups.select_related("policy").annotate(number=Count("user"))

    @admin.display(description="members", ordering="number")
    def members(self, group: Group) -> int:
        return int(getattr(group, "number", 0))

    @admin.display(description="open", boolean=True)
    def open_default(self, group: Group) -> bool:
        policy = getattr(group, "policy", None)
        return bool(policy and policy.open_default)


def _has_all_of(request: HttpRequest, group: Group) -> bool:
    authority = authority_of(cast(User, request.user))
    return authority.has_permissions(permissions_by([group]))


# Admin of spaces, through the service, and of group policies.


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
