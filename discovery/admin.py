"""Admin of discovery: turns, calls, outcomes and alerts, read only, and experiences to delete."""

from typing import Any, cast

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import TabularInline

from acl.admin.admin_base import AuditedAdmin, ReadOnlyAdmin
from acl.visible_text.canonical_json import text_of
from discovery.calls.arguments import render_call
from discovery.calls.queries import PRIVATE_FIELDS, may_read_contents
from discovery.learning.experience_store import forget
from discovery.models import (
    AdvicePolicy,
    Call,
    Called,
    CallLimit,
    CallPolicy,
    Chat,
    ChatMessage,
    ChatModel,
    ChatUse,
    DayFigures,
    ExampleRun,
    Experience,
    FirstRun,
    FlowRule,
    ModelPrice,
    ModelRequest,
    Outcome,
    OutcomeAlert,
    Quota,
    ServerRequest,
    TaughtMessage,
    ToolExample,
    TrustedValue,
    Turn,
)

CHAIN = ("actor", "key")  # may be deleted; the copied kinds, prefix and name remain


@admin.register(DayFigures)
class DayFiguresAdmin(ReadOnlyAdmin):
    list_display = ("begins", "group", "sums")
    list_filter = ("begins",)
    list_select_related = ("group",)


@admin.register(Turn)
class TurnAdmin(ReadOnlyAdmin):
    list_display = (
        "created_at", "user", "group", "state", "mode", "tokens_selected", "tokens_all",
        "milliseconds",
    )  # fmt: skip
    list_filter = ("group", "state", "mode", "created_at")
    list_select_related = ("user", "group")
    search_fields = ("id", "user__username", "group__name", "message")
    exclude = CHAIN
    date_hierarchy = "created_at"


@admin.register(ChatModel)
class ChatModelAdmin(ReadOnlyAdmin):
    """Chat models without their keys; the page Models changes them."""

    list_display = ("name", "provider", "model_id", "address", "daily_tokens")
    list_filter = ("provider",)
    search_fields = ("name", "model_id", "address")
    exclude = ("sealed_key",)


@admin.register(ExampleRun)
class ExampleRunAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "integration", "origin", "state", "total", "tokens")
    list_filter = ("state", "created_at")
    list_select_related = ("integration",)


@admin.register(Chat)
class ChatAdmin(ReadOnlyAdmin):
    """Chats without their texts, which are their owner's alone."""

    list_display = ("created_at", "user", "group", "model")
    list_filter = ("model", "group", "created_at")
    list_select_related = ("user", "group", "model")
    search_fields = ("id", "user__username")


@admin.register(ChatMessage)
class ChatMessageAdmin(ReadOnlyAdmin):
    """Messages of chats without their texts."""

    list_display = ("created_at", "state", "reason", "ended_at")
    list_filter = ("state", "reason", "created_at")
    fields = readonly_fields = list_display


@admin.register(ModelRequest)
class ModelRequestAdmin(ReadOnlyAdmin):
    """Requests to models without their texts."""

    list_display = (
        "created_at", "model_id", "purpose", "step", "state", "reason", "tokens_read",
        "tokens_written",
    )  # fmt: skip
    list_filter = ("purpose", "state", "reason", "created_at")
    search_fields = ("model_id",)
    exclude = ("message", "body", "content", "text", "calls")


@admin.register(AdvicePolicy)
class AdvicePolicyAdmin(ReadOnlyAdmin):
    """Read-only admin of advice on choosing tools."""

    list_display = ("__str__", "plans", "orders", "milliseconds", "daily_tokens", "used_tokens")
    list_select_related = ("model", "group")
    search_fields = ("group__name", "model__name")


@admin.register(ChatUse)
class ChatUseAdmin(ReadOnlyAdmin):
    """Tokens of people with models by day."""

    list_display = ("day", "user", "model", "tokens")
    list_select_related = ("user", "model")
    search_fields = ("user__username", "model__name")


@admin.register(ServerRequest)
class ServerRequestAdmin(ReadOnlyAdmin):
    """Requests without answers: those belong to the user alone, and are cleared soon."""

    list_display = ("created_at", "method", "target", "integration", "user", "group", "state")
    list_filter = ("method", "state", "group", "created_at")
    list_select_related = ("integration", "user", "group")
    search_fields = ("id", "target", "integration__slug", "user__username")
    exclude = ("params_json", "result_json", *CHAIN)
    raw_id_fields = ("space",)
    date_hierarchy = "created_at"


@admin.register(Call)
class CallAdmin(ReadOnlyAdmin):
    """Calls: facts for everyone here, and arguments for those who may read them on the call's own
    page (`may_read_contents`)."""

    list_display = ("created_at", "full_name", "user", "group", "state", "reason", "side_effect")
    list_filter = ("state", "group", "side_effect", "created_at")
    list_select_related = ("user", "group")
    search_fields = ("id", "full_name", "user__username", "group__name")
    exclude = (*PRIVATE_FIELDS, "arguments_hash", "approved_digest", "idempotency_key", *CHAIN)
    raw_id_fields = ("space",)
    readonly_fields = ("rendered_arguments",)
    date_hierarchy = "created_at"

    def get_readonly_fields(self, request: HttpRequest, obj: Call | None = None) -> Any:
        """Leave the arguments out for people who may not read them."""
        if obj is None or not may_read_contents(cast(User, request.user), obj):
            return ()
        return self.readonly_fields

    @admin.display(description="Arguments")
    def rendered_arguments(self, call: Call) -> SafeString:
        """Render the arguments as the approval page does."""
        return format_html("<pre>{}</pre>", text_of(render_call(call)))


@admin.register(CallPolicy)
class CallPolicyAdmin(ReadOnlyAdmin):
    """Policies of groups on their calls; the page of calls changes them."""

    list_display = ("group", "content", "days")
    list_select_related = ("group",)


class CalledInline(TabularInline):  # type: ignore[misc]  # unfold has no types
    model = Called
    fields = readonly_fields = ("full_name", "selected")
    can_delete = False
    extra = max_num = 0


@admin.register(Outcome)
class OutcomeAdmin(ReadOnlyAdmin):
    list_display = ("at", "group", "status", "score", "source", "called_known", "called_selected")
    list_filter = ("status", "source", "group", "at")
    list_select_related = ("group",)
    search_fields = ("turn__id", "group__name", "note")
    exclude = CHAIN
    raw_id_fields = ("space",)
    inlines = (CalledInline,)


@admin.register(OutcomeAlert)
class OutcomeAlertAdmin(ReadOnlyAdmin):
    list_display = ("at", "scope", "severity", "reason", "value", "threshold", "samples")
    list_filter = ("severity", "group", "at")
    search_fields = ("scope", "group__name", "reason")
    raw_id_fields = ("space",)


@admin.register(ToolExample)
class ToolExampleAdmin(ReadOnlyAdmin):
    """Examples of arguments; the page to try a tool changes them."""

    list_display = ("title", "capability", "created_by", "created_at")
    list_select_related = ("capability", "created_by")
    search_fields = ("title", "capability__full_name")


@admin.register(Quota)
class QuotaAdmin(ReadOnlyAdmin):
    """Quotas on calls; the page of quotas changes them."""

    list_display = ("id", "measure", "user", "group", "capability", "each_person", "soft", "hard")
    list_select_related = ("user", "group", "capability")
    list_filter = ("measure", "group")


@admin.register(CallLimit)
class CallLimitAdmin(ReadOnlyAdmin):
    """Limits of integrations' calls a minute; their pages change them."""

    list_display = ("integration", "a_minute")
    list_select_related = ("integration",)
    search_fields = ("integration__slug",)


@admin.register(ModelPrice)
class ModelPriceAdmin(ReadOnlyAdmin):
    """Prices of models; the page of prices changes them."""

    list_display = ("pattern", "input_price", "output_price", "noted_on", "source")
    search_fields = ("pattern", "source")


@admin.register(FirstRun)
class FirstRunAdmin(ReadOnlyAdmin):
    list_display = ("user", "tried_at", "hidden_at")
    list_select_related = ("user",)
    search_fields = ("user__username",)


@admin.register(TaughtMessage)
class TaughtMessageAdmin(ReadOnlyAdmin):
    """Taught messages; the page Teach changes them."""

    list_display = ("created_at", "group", "user", "message", "state")
    list_filter = ("state", "group")
    list_select_related = ("group", "user")
    search_fields = ("message", "user__username", "group__name")


@admin.register(Experience)
class ExperienceAdmin(ReadOnlyAdmin):
    """Experiences. A deletion makes one audit entry per group."""

    list_display = ("created_at", "group", "capability", "user", "worth", "model")
    list_filter = ("group", "created_at")
    list_select_related = ("group", "capability", "user", "model")
    search_fields = ("capability__full_name", "user__username", "group__name")
    fields = readonly_fields = (*list_display, "turn")
    date_hierarchy = "created_at"

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(request.user.has_perm("discovery.delete_experience"))

    def delete_model(self, request: HttpRequest, obj: Experience) -> None:
        self.delete_queryset(request, Experience.objects.filter(pk=obj.pk))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Experience]) -> None:
        forget(by=cast(User, request.user), experiences=queryset)


@admin.register(FlowRule)
class FlowRuleAdmin(AuditedAdmin):
    """The guard's mode by tool, space and group."""

    list_display = ("mode", "capability", "space", "group", "created_at")
    list_filter = ("mode", "group")
    list_select_related = ("capability", "space__group", "group")
    raw_id_fields = ("capability", "space")
    fields = ("capability", "space", "group", "mode")


@admin.register(TrustedValue)
class TrustedValueAdmin(AuditedAdmin):
    """Values that may decide where a call goes, whoever's text named them."""

    list_display = ("value", "note", "created_by", "created_at")
    list_select_related = ("created_by",)
    search_fields = ("value", "note")
    fields = ("value", "note")

    def save_model(self, request: HttpRequest, obj: TrustedValue, form: Any, change: bool) -> None:
        if not change:
            obj.created_by = cast(User, request.user)
        super().save_model(request, obj, form, change)
