"""Admin of integrations, capabilities and rules, with grants as inlines."""

from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.db.models import Count, Model, QuerySet
from django.forms.models import BaseInlineFormSet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from unfold.admin import TabularInline

from acl.admin.admin_base import AuditedAdmin
from acl.platform.stored_texts import translate_stored
from catalog.effects.assessment import CORRECTABLE, FLAGS
from catalog.formats.categories import canonical_category
from catalog.models import (
    Capability,
    CapabilityGroupPermission,
    CapabilityUserPermission,
    Integration,
    IntegrationGroupPermission,
    IntegrationUserPermission,
    Rule,
)
from catalog.models.integration import ReviewState
from catalog.registration.admin_corrections import awaits_review, correct_capability
from catalog.trust.findings import requires_review
from catalog.trust.scanner import scan_definition

# The scan of texts typed by admins: findings must be approved.


class GatedForm(forms.ModelForm):
    """A form with a scan: suspicious texts need the admin's approval."""

    gated: ClassVar[tuple[str, ...]] = ()
    approve_findings = forms.BooleanField(
        required=False,
        label="Approve the findings",
        help_text="Only needed where a text was refused for what was found in it.",
    )

    def clean(self) -> dict[str, Any]:
        """Scan the changed texts."""
        values: dict[str, Any] = super().clean() or {}
        for name in self.gated:
            text = str(values.get(name, ""))
            # Also scan as words: categories are written with hyphens.
            findings = scan_definition({name: text, "words": text.replace("-", " ")})
            if (
                name in self.changed_data
                and requires_review(findings)
                and not values["approve_findings"]
            ):
                message = " ".join(
                    dict.fromkeys(translate_stored(finding.told) for finding in findings)
                )
                self.add_error(
                    name, f"{message} Approve the findings below, or write it differently."
                )
        return values


class GrantFormSet(BaseInlineFormSet):
    """Grants below a row; the permission is fixed."""

    def clean(self) -> None:
        """Refuse duplicate users and groups."""
        super().clean()
        subject = self.form.base_fields.keys() & {"user", "group"}
        subjects = set()
        for form in self.forms:
            chosen = form.cleaned_data.get(next(iter(subject))) if form.is_valid() else None
            if chosen is not None and not form.cleaned_data.get("DELETE") and chosen in subjects:
                raise forms.ValidationError(_("%(name)s is listed twice.") % {"name": chosen})
            subjects.add(chosen)

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
    editable = ("enabled", "state", "restricted", "requestable", "application_executes")
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
    side_effect = forms.ChoiceField(choices=Capability.SideEffect.choices, required=False)
    effect_flags = forms.MultipleChoiceField(
        choices=[(flag, flag.replace("_", " ")) for flag in FLAGS],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def clean_side_effect(self) -> str:
        """Return the chosen effect; without a choice, it stays."""
        return str(self.cleaned_data["side_effect"] or self.instance.side_effect)

    def clean_state(self) -> str:
        """Refuse to approve a quarantined capability here: only the review can."""
        state = str(self.cleaned_data["state"])
        if state == ReviewState.APPROVED and awaits_review(self.instance.pk):
            slug = self.instance.integration.slug
            raise forms.ValidationError(
                _("Its definition awaits a review. Approve it at %(address)s.")
                % {"address": f"/integrations/{slug}/review/"}
            )
        return state

    def clean_category(self) -> str:
        """Normalize the category."""
        folded = canonical_category(self.cleaned_data["category"])
        if not folded:
            raise forms.ValidationError(_("A category needs letters or digits."))
        return folded


@admin.register(Capability)
class CapabilityAdmin(DescribedAdmin):
    form = CapabilityForm
    editable = (
        *("category", "state", "ai_access", "core", "pinned"),
        *CORRECTABLE,
        "approve_findings",
    )
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
