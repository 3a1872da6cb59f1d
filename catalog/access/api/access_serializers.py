"""Serializers of the rights API."""

from typing import Any

from rest_framework import serializers

from acl.models.application import LONGEST_NAME
from acl.rights.precedence import DECISIONS, EFFECTS
from acl.web.api_views import CallerSerializer
from acl.web.serializers import StrictSerializer, Text, page_serializer, serializer_for
from catalog.access.explanation import ExplainedPlace, ExplanationStep, Holders
from catalog.access.rules import RuleConflict

AT: dict[str, Any] = {
    "default": "",
    "allow_blank": True,
    "max_length": 40,
    "help_text": "The answer of a past moment: a date with a time, or a date, which means the end "
    "of that day. Names are those of that moment.",
}
PAGE: dict[str, Any] = {"default": 1, "min_value": 1, "max_value": 1_000_000}


class ExplainQuerySerializer(CallerSerializer):
    """Query for an explanation."""

    capability = Text(max_length=200, help_text="Its full name.")
    at = Text(**AT)


class ReachQuerySerializer(CallerSerializer):
    """Query for everything a caller may use."""

    query = serializers.CharField(
        default="", allow_blank=True, max_length=200, help_text="Words that the name must contain."
    )
    page = serializers.IntegerField(**PAGE)
    at = Text(**AT)


class HoldersQuerySerializer(StrictSerializer):
    """Query for the holders of a capability."""

    capability = Text(max_length=200, help_text="Its full name.")
    group = Text(
        max_length=150,
        default="",
        allow_blank=True,
        help_text="Only in this group. A key sees only its own groups.",
    )
    application = Text(
        max_length=LONGEST_NAME,
        default="",
        allow_blank=True,
        help_text="Only where this chat application may reach it.",
    )
    page = serializers.IntegerField(**PAGE)
    at = Text(**AT)


StepSerializer = serializer_for(ExplanationStep)
AdviceSerializer = serializer_for(RuleConflict)
HoldersSerializer = serializer_for(Holders)


class ExplanationSerializer(serializers.Serializer[Any]):
    """The decision and its steps, in order of precedence."""

    full_name = serializers.CharField()
    decision = serializers.ChoiceField(DECISIONS)
    because = serializers.CharField(help_text="One sentence.")
    steps = StepSerializer(many=True)
    beaten = StepSerializer(many=True, help_text="Rules that were overridden.")
    path = serializer_for(ExplainedPlace)(
        many=True, help_text="The caller's space and those above it, nearest first."
    )
    advice = AdviceSerializer(many=True, source="warnings")
    readiness = serializers.CharField(
        source="readiness.state.value",
        default=None,
        allow_null=True,
        help_text="What a call would do now; null if the caller may not use it, and with `at`.",
    )
    readiness_reason = serializers.CharField(
        source="readiness.sentence", default=None, allow_null=True
    )
    mend_path = serializers.CharField(
        source="mend.path", default="", help_text="The page where that person can fix it."
    )


class ReachedSerializer(serializers.Serializer[Any]):
    """A capability, and why it may be used."""

    full_name = serializers.CharField(source="capability.full_name")
    integration = serializers.CharField(source="capability.integration.slug")
    display_name = serializers.CharField(source="capability.display_name")
    decision = serializers.ChoiceField(DECISIONS, source="explanation.decision")
    because = serializers.CharField(source="explanation.because")
    ground = StepSerializer(source="explanation.ground", allow_null=True)


class ReachSerializer(serializers.Serializer[Any]):
    """A page of the capabilities a caller may use."""

    items = ReachedSerializer(many=True)
    count = serializers.IntegerField()
    page = serializers.IntegerField()
    pages = serializers.IntegerField()


class KeptRulesQuerySerializer(StrictSerializer):
    """The page of a list."""

    limit = serializers.IntegerField(default=50, min_value=1, max_value=200)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=10_000_000)


class RulesQuerySerializer(StrictSerializer):
    """Filters for rules; empty ones match all."""

    group = Text(max_length=150, default="", allow_blank=True, help_text="The group of the spaces.")
    space = Text(max_length=60, default="", allow_blank=True, help_text="A slug.")
    integration = Text(max_length=48, default="", allow_blank=True, help_text="A slug.")
    capability = Text(max_length=200, default="", allow_blank=True, help_text="A full name.")
    limit = serializers.IntegerField(default=50, min_value=1, max_value=200)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=10_000_000)


class RuleSerializer(serializers.Serializer[Any]):
    """A stored rule."""

    id = serializers.IntegerField()
    group = serializers.CharField(source="space.group.name", help_text="The space's group.")
    space = serializers.CharField(source="space.slug")
    effect = serializers.ChoiceField(EFFECTS, source="get_effect_display")
    integration = serializers.CharField(source="integration.slug", allow_null=True, default=None)
    capability = serializers.CharField(source="capability.full_name", allow_null=True, default=None)
    for_user = serializers.CharField(source="user.username", allow_null=True, default=None)
    for_group = serializers.CharField(source="group.name", allow_null=True, default=None)
    created_at = serializers.DateTimeField()


class NewRuleSerializer(RuleSerializer):
    """A new rule, with warnings about conflicts."""

    warnings = AdviceSerializer(many=True)


RulesSerializer = page_serializer(RuleSerializer, "Rules", "A page of rules.")


class KeptRuleSerializer(serializers.Serializer[Any]):
    """A waiting rule: its integration or tool is gone."""

    id = serializers.IntegerField()
    group = serializers.CharField(source="space.group.name", allow_null=True, default=None)
    space = serializers.CharField(
        source="space.slug", allow_null=True, default=None, help_text="Empty for its own access."
    )
    kind = serializers.ChoiceField(
        ["", "quotas", "flow_rules", "call_limits"],
        help_text="Empty for a rule; else a quota, a rule on flows, or a limit of calls a minute.",
    )
    effect = serializers.ChoiceField(
        EFFECTS, source="get_effect_display", allow_null=True, help_text="Of a rule."
    )
    terms = serializers.DictField(help_text="What a limit that is no rule says.")
    integration = serializers.CharField()
    capability = serializers.CharField(source="full_name", help_text="Empty for the integration.")
    for_user = serializers.CharField(source="user.username", allow_null=True, default=None)
    for_group = serializers.CharField(source="group.name", allow_null=True, default=None)
    created_at = serializers.DateTimeField()
    kept_at = serializers.DateTimeField()


KeptRulesSerializer = page_serializer(KeptRuleSerializer, "KeptRules", "A page of waiting rules.")


class CreateRuleSerializer(StrictSerializer):
    """A rule about an integration or a capability, for a user, a group or everyone."""

    group = Text(
        max_length=150,
        default="",
        allow_blank=True,
        help_text="The space's group. A key with one group may omit it.",
    )
    space = Text(
        max_length=60,
        default="",
        allow_blank=True,
        help_text="The space's slug; defaults to the group's root.",
    )
    effect = serializers.ChoiceField(EFFECTS)
    integration = Text(max_length=48, required=False, allow_null=True, default=None)
    capability = Text(max_length=200, required=False, allow_null=True, default=None)
    for_user = Text(max_length=150, required=False, allow_null=True, default=None)
    for_group = Text(max_length=150, required=False, allow_null=True, default=None)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require one target and at most one subject."""
        if (attrs["integration"] is None) == (attrs["capability"] is None):
            raise serializers.ValidationError(
                {"capability": "Name either an integration or a capability."}
            )
        if attrs["for_user"] is not None and attrs["for_group"] is not None:
            raise serializers.ValidationError(
                {"for_group": "Name a user or a group, or neither, which means everyone."}
            )
        return attrs
