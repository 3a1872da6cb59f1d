"""Forms of the admin that hand out power: each asks the rules of delegation."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib.auth.models import Group, Permission, User
from unfold.forms import UserChangeForm, UserCreationForm

from acl.delegation import DelegationRefused, check_flags, check_groups


class PowerForm(forms.ModelForm):
    """Compares flags, groups and permissions with those of whoever fills in the form. Only what
    is new counts: who has more already was given it by somebody else."""

    by: User  # set by the admin's class

    def clean(self) -> dict[str, Any]:
        """Put each refusal beside its field."""
        data = super().clean() or {}
        try:
            self.check_power(data)
        except DelegationRefused as refused:
            self.add_error(refused.field if refused.field in self.fields else None, str(refused))
        return data

    def check_power(self, data: dict[str, Any]) -> None:
        """Raise DelegationRefused if the form would give more than `by` has."""
        raise NotImplementedError

    def added(self, field: str, data: dict[str, Any]) -> list[Any]:
        """Return what the form adds to a many-to-many field."""
        chosen: Iterable[Any] = data.get(field) or ()
        kept = set(getattr(self.instance, field).all()) if self.instance.pk else set()
        return [one for one in chosen if one not in kept]


class PersonPowerForm(PowerForm, UserChangeForm):  # type: ignore[misc]  # unfold has no types
    """A person whose flags, groups and permissions may change."""

    def check_power(self, data: dict[str, Any]) -> None:
        """Ask about what the form adds."""
        check_flags(
            self.by,
            is_staff=_turns_on("is_staff", self, data),
            is_superuser=_turns_on("is_superuser", self, data),
            permissions=_names(self.added("user_permissions", data)),
        )
        check_groups(self.by, self.added("groups", data))


class NewPersonForm(PowerForm, UserCreationForm):  # type: ignore[misc]  # unfold has no types
    """A new person has a name and a password, and no power yet."""

    def check_power(self, data: dict[str, Any]) -> None:
        """A new person is given nothing here."""


class GroupPowerForm(PowerForm):
    """A group whose permissions may change."""

    class Meta:
        model = Group
        fields = "__all__"  # noqa: DJ007 - Django's own two fields

    def check_power(self, data: dict[str, Any]) -> None:
        """Ask about the permissions that the form adds."""
        added = _names(self.added("permissions", data))
        try:
            check_flags(self.by, is_staff=False, is_superuser=False, permissions=added)
        except DelegationRefused as refused:
            raise DelegationRefused("permissions", str(refused)) from refused


def _turns_on(flag: str, form: forms.ModelForm, data: dict[str, Any]) -> bool:
    return bool(data.get(flag)) and not form.initial.get(flag, False)


def _names(permissions: Iterable[Permission]) -> frozenset[str]:
    return frozenset(f"{one.content_type.app_label}.{one.codename}" for one in permissions)
