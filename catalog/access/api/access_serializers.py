"""Serializers of the rights API."""

from typing import Any, get_args

from rest_framework import serializers

from acl.rights.decision import Ground
from acl.rights.precedence_sql import DECISIONS, EFFECTS
from acl.web.api_views import CallerSerializer
from acl.web.strict_serializer import StrictSerializer, Text

KINDS: tuple[str, ...] = get_args(Ground)
PAGE: dict[str, Any] = {"default": 1, "min_value": 1, "max_value": 1_000_000}


class ExplainQuerySerializer(CallerSerializer):
    """Query for an explanation."""

    capability = Text(max_length=200, help_text="Its full name.")


class ReachQuerySerializer(CallerSerializer):
    """Query for everything a caller may use."""

    query = serializers.CharField(
        default="", allow_blank=True, max_length=200, help_text="Words that the name must contain."
    )
    page = serializers.IntegerField(**PAGE)


class HoldersQuerySerializer(StrictSerializer):
    """Query for the holders of a capability."""

    capability = Text(max_length=200, help_text="Its full name.")
    group = Text(
        max_length=150,
        default="",
        allow_blank=True,
        help_text="Only in this group. A key sees only its own groups.",
    )
    page = serializers.IntegerField(**PAGE)


class StepSerializer(serializers.Serializer[Any]):
    """A rule, grant or default considered for the decision."""

    kind = serializers.ChoiceField(KINDS)
    sentence = serializers.CharField(help_text="The same as text.")
    effect = serializers.ChoiceField(DECISIONS, help_text="Its own decision.")
    decides = serializers.BooleanField(help_text="True for the step that decides.")
    space = serializers.CharField(help_text="The slug of a rule's space.")
    space_name = serializers.CharField()
    distance = serializers.IntegerField(
        help_text="How many levels a rule's space is above the caller's."
    )
    subject = serializers.CharField(help_text="`everyone`, or the name of the user or group.")
    subject_kind = serializers.ChoiceField(("everyone", "user", "group", ""))
    target = serializers.CharField(help_text="An integration's slug or a full name.")
    target_kind = serializers.ChoiceField(("integration", "capability", ""))
    rule = serializers.IntegerField(allow_null=True, help_text="Its id.")


class PlaceSerializer(serializers.Serializer[Any]):
    """A space."""

    slug = serializers.CharField()
    name = serializers.CharField()


class AdviceSerializer(serializers.Serializer[Any]):
    """A warning about a surprising decision, and an alternative."""

    case = serializers.IntegerField(help_text="Its number among the cases in the documentation.")
    sentence = serializers.CharField()
    instead = serializers.CharField()


class ExplanationSerializer(serializers.Serializer[Any]):
    """The decision and its steps, in order of precedence."""

    full_name = serializers.CharField()
    decision = serializers.ChoiceField(DECISIONS)
    because = serializers.CharField(help_text="One sentence.")
    steps = StepSerializer(many=True)
    beaten = StepSerializer(many=True, help_text="Rules that were overridden.")
    path = PlaceSerializer(
        many=True, help_text="The caller's space and those above it, nearest first."
    )
    advice = AdviceSerializer(many=True, source="warnings")
    readiness = serializers.CharField(
        source="readiness.state.value",
        default=None,
        allow_null=True,
        help_text="What a call would do now; null if the caller may not use it.",
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


class HolderSerializer(serializers.Serializer[Any]):
    """A person in a group and a space."""

    user = serializers.CharField()
    group = serializers.CharField()
    space = serializers.CharField(
        help_text="A space that is not listed has the answer of its parent."
    )
    decision = serializers.ChoiceField(DECISIONS)
    ground = StepSerializer()


class HoldersSerializer(serializers.Serializer[Any]):
    """A page of a capability's holders."""

    items = HolderSerializer(many=True)
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


class RulesSerializer(serializers.Serializer[Any]):
    """A page of rules."""

    items = RuleSerializer(many=True)
    total = serializers.IntegerField()
    has_more = serializers.BooleanField()
    limit = serializers.IntegerField()
    offset = serializers.IntegerField()


class KeptRuleSerializer(serializers.Serializer[Any]):
    """A waiting rule: its integration or tool is gone."""

    id = serializers.IntegerField()
    group = serializers.CharField(source="space.group.name", allow_null=True, default=None)
    space = serializers.CharField(
        source="space.slug", allow_null=True, default=None, help_text="Empty for its own access."
    )
    kind = serializers.ChoiceField(
        ["", "quotas", "flow_rules"],
        help_text="Empty for a rule; else what it is: a quota of the tool, or a rule on flows.",
    )
    effect = serializers.ChoiceField(
        EFFECTS, source="get_effect_display", allow_null=True, help_text="Of a rule."
    )
    terms = serializers.DictField(help_text="What a quota or a rule on flows says.")
    integration = serializers.CharField()
    capability = serializers.CharField(source="full_name", help_text="Empty for the integration.")
    for_user = serializers.CharField(source="user.username", allow_null=True, default=None)
    for_group = serializers.CharField(source="group.name", allow_null=True, default=None)
    created_at = serializers.DateTimeField()
    kept_at = serializers.DateTimeField()


class KeptRulesSerializer(serializers.Serializer[Any]):
    """A page of waiting rules."""

    items = KeptRuleSerializer(many=True)
    total = serializers.IntegerField()
    has_more = serializers.BooleanField()
    limit = serializers.IntegerField()
    offset = serializers.IntegerField()


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
