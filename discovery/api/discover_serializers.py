"""The bodies of discovery in tiers."""

from typing import Any

from rest_framework import serializers

from acl.http.strict_serializer import Number, Share
from catalog.models import Capability
from discovery.api.select_serializers import (
    MessageSerializer,
    ModeSerializer,
    RoomSerializer,
    ToolsSerializer,
)

MOST_TOKENS = 20_000
MOST_LINES, MOST_IN_FULL = 20, 5


def _budget(tier: int) -> Number:
    return Number(
        required=False,
        min_value=0,
        max_value=MOST_TOKENS,
        help_text=f"Tokens of tier {tier}, at most; without it the deployment's.",
    )


class DiscoverRequestSerializer(RoomSerializer, MessageSerializer):
    """A message, and how much may be told for it."""

    tier0_tokens = _budget(0)
    tier1_tokens = _budget(1)
    tier2_tokens = _budget(2)
    tier1_top = Number(
        required=False,
        min_value=0,
        max_value=MOST_LINES,
        help_text="How many get a line in tier 1.",
    )
    tier2_top = Number(
        required=False,
        min_value=0,
        max_value=MOST_IN_FULL,
        help_text="How many of these are told in full in tier 2.",
    )
    relevance = Share(required=False, help_text="The least score of what gets a line.")


class TierSerializer(serializers.Serializer[Any]):
    """What one tier says, what it costs, and what it may cost."""

    text = serializers.CharField(allow_blank=True)
    tokens = serializers.IntegerField()
    budget = serializers.IntegerField()


class TierCategorySerializer(serializers.Serializer[Any]):
    """A category, and the names of the first of its capabilities."""

    category = serializers.CharField()
    count = serializers.IntegerField()
    names = serializers.ListField(child=serializers.CharField())
    more = serializers.IntegerField(help_text="How many more there are than names.")


class SummarySerializer(TierSerializer):
    """Tier 0: the categories in which the caller has something, the largest first."""

    categories = TierCategorySerializer(many=True)
    left_out = serializers.IntegerField(help_text="Categories that the text has no place for.")


class MatchSerializer(serializers.Serializer[Any]):
    """A capability that fits the message."""

    id = serializers.CharField()
    full_name = serializers.CharField()
    kind = serializers.ChoiceField(Capability.Kind.choices)
    display_name = serializers.CharField()
    score = serializers.FloatField(min_value=0, max_value=1)
    reasons = serializers.ListField(child=serializers.CharField())
    access = serializers.ChoiceField(["runs", "asks first"])
    shown = serializers.BooleanField(help_text="Whether the text had a place for it.")


class LinesSerializer(TierSerializer):
    """Tier 1: the best that are relevant enough, a line each."""

    capabilities = MatchSerializer(many=True)


class ToldSerializer(serializers.Serializer[Any]):
    """How a capability is told in full."""

    full_name = serializers.CharField()
    schema_level = serializers.ChoiceField(
        ["full_schema", "compact_schema", "micro_schema", "parameters", "none", ""],
        help_text="How its arguments are written; `none` without any, empty where only its name "
        "had a place.",
    )
    examples = serializers.IntegerField()
    content_lines = serializers.IntegerField(help_text="Of its own text, how many are there.")
    all_content_lines = serializers.IntegerField()


class InFullSerializer(TierSerializer):
    """Tier 2: the foremost of these in full."""

    capabilities = ToldSerializer(many=True)


class DiscoveryTokensSerializer(serializers.Serializer[Any]):
    """Estimates: each tier, the context, the tools, and all that the caller may use."""

    tier0 = serializers.IntegerField()
    tier1 = serializers.IntegerField()
    tier2 = serializers.IntegerField()
    total = serializers.IntegerField(help_text="Of `context`, which has all three.")
    tools = serializers.IntegerField()
    all = serializers.IntegerField()


class DiscoverySerializer(ToolsSerializer):
    """The three tiers."""

    tier0 = SummarySerializer()
    tier1 = LinesSerializer()
    tier2 = InFullSerializer()
    context = serializers.CharField(  # type: ignore[assignment]  # the class's own is a mapping
        allow_blank=True, help_text="For the system prompt."
    )
    tokens = DiscoveryTokensSerializer()
    mode = ModeSerializer(help_text="How much of everything would fit the context window.")
    degraded = serializers.BooleanField()
    degraded_because = serializers.ListField(child=serializers.CharField())
    turn_id = serializers.UUIDField(allow_null=True)
    timings = serializers.DictField(
        child=serializers.FloatField(), help_text="Milliseconds by part."
    )
