"""Admin of integrations, capabilities and rules."""

from typing import Any, cast

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Count, Model, QuerySet
from django.http import HttpRequest

from acl.admin.admin_base import AuditedAdmin
from catalog.admin.findings_form import GatedForm
from catalog.admin.grant_inlines import (
    CapabilityGroupInline,
    CapabilityUserInline,
    IntegrationGroupInline,
    IntegrationUserInline,
)
from catalog.formats.categories import canonical_category
from catalog.models import Capability, Integration, Rule
from catalog.models.integration import ReviewState
from catalog.registration.admin_corrections import awaits_review, correct_capability


class DescribedAdmin(AuditedAdmin):
    """Admin of rows that come from a source: only an organisation's decisions are editable."""

    editable: tuple[str, ...] = ()

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        """Return editable fields first, then the source's."""
        hidden = {"id", *self.exclude} if self.exclude else {"id"}
        names = [field.name for field in self.model._meta.concrete_fields]
        return [*self.editable, *(name for name in names if name not in {*hidden, *self.editable})]

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        return [name for name in self.get_fields(request, obj) if name not in self.editable]


@admin.register(Integration)
class IntegrationAdmin(DescribedAdmin):
    editable = ("enabled", "state", "restricted")
    list_display = ("slug", "title", "kind", "number", "enabled", "state", "connection")
    list_filter = ("kind", "enabled", "state", "restricted", "connection")
    search_fields = ("slug", "title", "description", "publisher")
    inlines = (IntegrationGroupInline, IntegrationUserInline)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Integration]:
        rows: QuerySet[Integration] = super().get_queryset(request)
        return rows.annotate(number=Count("capabilities"))

    @admin.display(description="capabilities", ordering="number")
    def number(self, integration: Integration) -> int:
        return int(getattr(integration, "number", 0))


class CapabilityForm(GatedForm):
    """The form for an admin's decisions about a capability."""

    gated = ("category",)

    def clean_state(self) -> str:
        """Refuse to approve a quarantined capability here: only the review can."""
        state = str(self.cleaned_data["state"])
        if state == ReviewState.APPROVED and awaits_review(self.instance.pk):
            slug = self.instance.integration.slug
            raise forms.ValidationError(
                f"Its definition waits for a review. Approve it at /integrations/{slug}/review/."
            )
        return state

    def clean_category(self) -> str:
        """Normalize the category."""
        folded = canonical_category(self.cleaned_data["category"])
        if not folded:
            raise forms.ValidationError("A category has letters or digits.")
        return folded


@admin.register(Capability)
class CapabilityAdmin(DescribedAdmin):
    form = CapabilityForm
    editable = ("category", "state", "ai_access", "core", "pinned", "approve_findings")
    list_display = (
        *("full_name", "display_name", "kind", "category", "category_inferred"),
        *("side_effect", "ai_access", "available", "state"),
    )
    list_filter = (
        *("kind", "category_inferred", "side_effect", "ai_access", "available", "state"),
        *("core", "pinned", "category"),
    )
    search_fields = ("full_name", "display_name", "description", "integration__slug")
    list_select_related = ("integration",)
    inlines = (CapabilityGroupInline, CapabilityUserInline)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Log only changes of grants: the service has recorded the rest."""
        grant_changes = [part for part in message if "name" in next(iter(part.values()))]
        if grant_changes:
            return super().log_change(request, obj, message)
        return super(AuditedAdmin, self).log_change(request, obj, message)

    def save_model(self, request: HttpRequest, obj: Capability, form: Any, change: bool) -> None:
        """Save through the service, which re-embeds a changed category."""
        correct_capability(by=cast(User, request.user), capability=obj, changed=form.changed_data)


@admin.register(Rule)
class RuleAdmin(AuditedAdmin):
    list_display = ("space", "effect", "target", "subject", "created_at")
    list_filter = ("effect", "space__group")
    list_select_related = ("space__group", "integration", "capability", "user", "group")
    search_fields = ("space__name", "integration__slug", "capability__full_name", "user__username")
    autocomplete_fields = ("space", "integration", "capability", "user", "group")
    ordering = ("-pk",)

    @admin.display(description="about")
    def target(self, rule: Rule) -> str:
        return str(rule.integration or rule.capability)

    @admin.display(description="for")
    def subject(self, rule: Rule) -> str:
        return str(rule.user or rule.group or "everyone")
