"""Inlines for grants on integrations and capabilities."""

from typing import cast

from django import forms
from django.contrib.auth.models import Permission
from django.db.models import Model, QuerySet
from django.forms.models import BaseInlineFormSet
from django.http import HttpRequest
from unfold.admin import TabularInline

from catalog.models import (
    CapabilityGroupPermission,
    CapabilityUserPermission,
    IntegrationGroupPermission,
    IntegrationUserPermission,
)


class GrantFormSet(BaseInlineFormSet):
    """Grants below a row; the permission is fixed."""

    def clean(self) -> None:
        """Refuse duplicate users and groups."""
        super().clean()
        subject = self.form.base_fields.keys() & {"user", "group"}
        seen = set()
        for form in self.forms:
            chosen = form.cleaned_data.get(next(iter(subject))) if form.is_valid() else None
            if chosen is not None and not form.cleaned_data.get("DELETE") and chosen in seen:
                raise forms.ValidationError(f"{chosen} is listed twice.")
            seen.add(chosen)

    def save_new(self, form: forms.ModelForm, commit: bool = True) -> Model:
        codename = f"use_{self.instance._meta.model_name}"
        form.instance.permission = Permission.objects.get(
            content_type__app_label="catalog", codename=codename
        )
        return cast(Model, super().save_new(form, commit))


class GrantInline(TabularInline):  # type: ignore[misc]  # unfold has no types
    formset = GrantFormSet
    extra = 0

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        """Exclude Django's own permissions, such as the one to change the row."""
        grants: QuerySet = super().get_queryset(request)
        return grants.filter(permission__codename__startswith="use_")


class GroupGrantInline(GrantInline):
    fields = ("group",)
    autocomplete_fields = ("group",)
    verbose_name = "group that may use it"
    verbose_name_plural = "groups that may use it"


class UserGrantInline(GrantInline):
    fields = ("user",)
    autocomplete_fields = ("user",)
    verbose_name = "person who may use it"
    verbose_name_plural = "people who may use it, in every group of theirs"


class IntegrationGroupInline(GroupGrantInline):
    model = IntegrationGroupPermission


class IntegrationUserInline(UserGrantInline):
    model = IntegrationUserPermission


class CapabilityGroupInline(GroupGrantInline):
    model = CapabilityGroupPermission


class CapabilityUserInline(UserGrantInline):
    model = CapabilityUserPermission
