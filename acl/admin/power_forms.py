"""Forms of the admin that hand out power: each asks the rules of delegation."""

from collections.abc import Callable, Iterable
from typing import Any

from django import forms
from django.contrib.auth.models import Group, Permission, User
from unfold.forms import UserChangeForm, UserCreationForm

from acl.delegation import DelegationRefused, check_flags, check_groups
from acl.visible_text.plain_names import check_plain_name


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
        kept = set(getattr(self.instance, field).all()) if self.instance.pk else set()
        return [one for one in chosen if one not in kept]


class PersonPowerForm(PowerForm, UserChangeForm):  # type: ignore[misc]  # unfold has no types
    """A person whose flags, groups and permissions may change."""

    def clean_username(self) -> str:
        """Refuse a new name that imitates another."""
        return _plain(self, "username")

    def clean(self) -> dict[str, Any]:
        """Ask about what the form adds."""
        data = super().clean() or {}
        flags = {name: _turns_on(name, self, data) for name in ("is_staff", "is_superuser")}
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


def _turns_on(flag: str, form: forms.ModelForm, data: dict[str, Any]) -> bool:
    return bool(data.get(flag)) and not form.initial.get(flag, False)


def _names(permissions: Iterable[Permission]) -> frozenset[str]:
    return frozenset(f"{one.content_type.app_label}.{one.codename}" for one in permissions)
