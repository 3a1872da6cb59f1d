"""Admin of edges, presets, and the data edges are computed from."""

from typing import Any, cast

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Count, Model, QuerySet
from django.forms.models import BaseInlineFormSet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from unfold.admin import TabularInline

from acl.admin.admin_base import AuditedAdmin, ReadOnlyAdmin
from catalog.admin.entry_admin import GatedForm
from catalog.models import Capability, Edge, Mention, Preset, PresetMember, Trait
from catalog.relations.relations import MOST_IN_A_PRESET, relate, set_members, unrelate


class EdgeForm(forms.ModelForm):
    """The form of an edge; a repeated edge replaces the existing one."""

    def clean(self) -> dict[str, Any]:
        """Refuse an edge from a capability to itself."""
        values: dict[str, Any] = super().clean() or {}
        if values.get("source") is not None and values.get("source") == values.get("target"):
            raise forms.ValidationError(_("A capability cannot be related to itself."))
        return values

    def clean_weight(self) -> float:
        """Require a weight from 0 to 1."""
        weight = float(self.cleaned_data["weight"])
        if not 0 <= weight <= 1:
            raise forms.ValidationError(_("A weight must be from 0 to 1."))
        return weight

    def _post_clean(self) -> None:
        """Skip model validation: the service orders the ends and updates existing edges."""


@admin.register(Edge)
class EdgeAdmin(AuditedAdmin):
    """Admin of stored edges; edges computed from shared traits have no row."""

    form = EdgeForm
    fields = ("source", "target", "kind", "weight")
    list_display = ("source", "kind", "target", "weight", "origin", "preset", "group")
    list_filter = ("kind", "origin", "group")
    search_fields = ("source__full_name", "target__full_name")
    list_select_related = ("source", "target", "preset", "group")
    autocomplete_fields = ("source", "target")
    ordering = ("source__full_name", "kind", "target__full_name", "pk")

    def has_change_permission(self, request: HttpRequest, obj: Edge | None = None) -> bool:
        """Forbid changes: adding the same edge again changes its weight."""
        return False

    def save_form(self, request: HttpRequest, form: Any, change: bool) -> Edge:
        return Edge(**form.cleaned_data, origin=Edge.Origin.ADMIN)

    def save_model(self, request: HttpRequest, obj: Edge, form: Any, change: bool) -> None:
        """Save through the service, which records it in the audit log."""
        stored, _ = relate(
            by=cast(User, request.user),
            source=obj.source,
            target=obj.target,
            kind=obj.kind,
            weight=obj.weight,
        )
        obj.pk = stored.pk

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Do nothing: an edge has no related rows."""

    def delete_model(self, request: HttpRequest, obj: Edge) -> None:
        unrelate(
            by=cast(User, request.user),
            source=obj.source,
            target=obj.target,
            kind=obj.kind,
            group=obj.group,
        )

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Edge]) -> None:
        for edge in queryset.select_related("source", "target", "group"):
            self.delete_model(request, edge)

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Log to Django's history only: the service has written the audit entry."""
        return super(AuditedAdmin, self).log_addition(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet) -> Any:
        return super(AuditedAdmin, self).log_deletions(request, queryset)


@admin.register(Mention)
class MentionAdmin(ReadOnlyAdmin):
    list_display = ("capability", "kind", "name", "weight", "origin")
    list_filter = ("kind", "origin")
    list_select_related = ("capability",)
    search_fields = ("capability__full_name", "name")
    ordering = ("capability__full_name", "kind", "name", "pk")


@admin.register(Trait)
class TraitAdmin(ReadOnlyAdmin):
    list_display = ("name", "capability")
    list_select_related = ("capability",)
    search_fields = ("name", "capability__full_name")
    ordering = ("name", "capability__full_name", "pk")


class MemberFormSet(BaseInlineFormSet):
    """The capabilities of a preset, limited in number."""

    def clean(self) -> None:
        super().clean()
        remaining = [
            form
            for form in self.forms
            if form.is_valid() and form.cleaned_data and not form.cleaned_data.get("DELETE")
        ]
        if len(remaining) > MOST_IN_A_PRESET:
            raise forms.ValidationError(
                _("A preset has at most %(limit)s capabilities.") % {"limit": MOST_IN_A_PRESET}
            )


class MemberInline(TabularInline):  # type: ignore[misc]  # unfold has no types
    model = PresetMember
    formset = MemberFormSet
    extra = 0
    autocomplete_fields = ("capability",)
    verbose_name = "capability that belongs to it"
    verbose_name_plural = "capabilities that are used together"


class PresetForm(GatedForm):
    gated = ("name", "description")


@admin.register(Preset)
class PresetAdmin(AuditedAdmin):
    form = PresetForm
    list_display = ("name", "number", "description")
    search_fields = ("name", "description")
    inlines = (MemberInline,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Preset]:
        rows: QuerySet[Preset] = super().get_queryset(request)
        return rows.annotate(number=Count("members"))

    @admin.display(description="capabilities", ordering="number")
    def number(self, preset: Preset) -> int:
        return int(getattr(preset, "number", 0))

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Store the members, then the edges between them."""
        super().save_related(request, form, formsets, change)
        members = Capability.objects.filter(memberships__preset=form.instance)
        set_members(by=cast(User, request.user), preset=form.instance, capabilities=list(members))
