"""Serializers of lookups: queries and responses."""

from typing import Any

from rest_framework import serializers

from acl.web.api_views import CallerSerializer
from acl.web.strict_serializer import Flag, Text
from catalog.capabilities.detail_levels import ACCESSES, DETAILS
from catalog.effects.assessment import FLAGS, FLAGS_HELP
from catalog.models import Capability
from catalog.readiness.readiness import MEND_HELP, Readiness

KINDS = ("any", "all", *Capability.Kind.values)
MOST_NAMES = 100
MOST_ITEMS = 200
EXAMPLES = "Add examples to every level of detail; `full_schema` always has them."


class DetailQuerySerializer(CallerSerializer):
    """Query for a single capability."""

    detail = serializers.ChoiceField(DETAILS, default="full_schema", help_text="Level of detail.")
    examples = serializers.BooleanField(default=False, help_text=EXAMPLES)


class ListQuerySerializer(CallerSerializer):
    """Query for a list: filters and paging."""

    kind = serializers.ChoiceField(
        KINDS, default="any", help_text="`any` and `all` mean every kind."
    )
    category = serializers.CharField(default="", allow_blank=True, max_length=60)
    integration = serializers.CharField(
        default="", allow_blank=True, max_length=48, help_text="Its slug."
    )
    prefix = serializers.CharField(
        default="", allow_blank=True, max_length=64, help_text="Prefix of the full names."
    )
    query = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=200,
        help_text="Words that must all occur in the names, description or tags.",
    )
    detail = serializers.ChoiceField(
        DETAILS, default="name_description", help_text="Level of detail for each."
    )
    examples = serializers.BooleanField(default=False, help_text=EXAMPLES)
    limit = serializers.IntegerField(default=50, min_value=1, max_value=MOST_ITEMS)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=10_000_000)


class CategoriesQuerySerializer(CallerSerializer):
    """Query for categories."""

    names = serializers.IntegerField(
        default=20, min_value=0, max_value=MOST_ITEMS, help_text="Number of names given for each."
    )


class BatchRequestSerializer(CallerSerializer):
    """Full names to look up at once."""

    names = serializers.ListField(child=Text(max_length=200), min_length=1, max_length=MOST_NAMES)
    detail = serializers.ChoiceField(
        DETAILS, default="name_description", help_text="Level of detail for each."
    )
    examples = Flag(default=False, help_text=EXAMPLES)


class CapabilitySerializer(serializers.Serializer[Any]):
    """A capability at the requested level of detail."""

    id = serializers.CharField()
    full_name = serializers.CharField(help_text="The name that a model calls.")
    kind = serializers.ChoiceField(Capability.Kind.choices, required=False)
    integration = serializers.CharField(required=False)
    display_name = serializers.CharField(required=False)
    description = serializers.CharField(
        required=False, help_text="At most 60 characters below `compact_schema`."
    )
    category = serializers.CharField(required=False)
    side_effect = serializers.ChoiceField(Capability.SideEffect.choices, required=False)
    effect_flags = serializers.ListField(
        child=serializers.ChoiceField(FLAGS), required=False, help_text=FLAGS_HELP
    )
    effect_confidence = serializers.FloatField(
        required=False, min_value=0, max_value=1, help_text="Confidence in the side effect."
    )
    effect_evidence = serializers.DictField(
        required=False, help_text="Reasons for the side effect and for each flag."
    )
    access = serializers.ChoiceField(ACCESSES, required=False)
    readiness = serializers.ChoiceField(
        [state.value for state in Readiness], required=False, help_text="What a call would do now."
    )
    readiness_reason = serializers.CharField(
        required=False, help_text="Why it is not ready, or empty."
    )
    mend_path = serializers.CharField(required=False, help_text=MEND_HELP)
    tags = serializers.ListField(child=serializers.CharField(), required=False)
    core = serializers.BooleanField(required=False)
    pinned = serializers.BooleanField(required=False)
    tokens = serializers.IntegerField(help_text="Estimated tokens of this entry as it is here.")
    action = serializers.CharField(required=False)
    micro_schema = serializers.DictField(
        required=False, allow_null=True, help_text="The arguments in Pegboard's short notation."
    )
    input_schema = serializers.DictField(
        required=False,
        allow_null=True,
        help_text="A JSON schema; at `compact_schema` without descriptions.",
    )
    output_schema = serializers.DictField(required=False, allow_null=True)
    content = serializers.CharField(required=False, help_text="A skill's Markdown.")
    examples = serializers.ListField(required=False)
    required_secrets = serializers.ListField(child=serializers.CharField(), required=False)
    required_tools = serializers.ListField(child=serializers.CharField(), required=False)
    parameters_summary = serializers.CharField(required=False)
    unavailable_reason = serializers.CharField(required=False)
    available_in_groups = serializers.IntegerField(
        required=False,
        help_text="The number of the caller's own groups in which they may use it; a key counts "
        "only groups that it works in.",
    )


class OneCapabilitySerializer(CapabilitySerializer):
    """A capability looked up by its name."""

    hint = serializers.CharField(help_text="Says so if its integration is not connected.")


class PageSerializer(serializers.Serializer[Any]):
    """A page of matching capabilities."""

    items = CapabilitySerializer(many=True)
    total = serializers.IntegerField(
        help_text="The number of matching capabilities that the caller may use."
    )
    has_more = serializers.BooleanField()
    limit = serializers.IntegerField()
    offset = serializers.IntegerField()
    hint = serializers.CharField(
        help_text="The capabilities left out because their integrations are not connected."
    )


class BatchSerializer(serializers.Serializer[Any]):
    """The found capabilities in the requested order, and the names not found."""

    found = CapabilitySerializer(many=True)
    not_found = serializers.ListField(child=serializers.CharField())
    hint = serializers.CharField(help_text="Says which of them are not connected.")


class CategorySerializer(serializers.Serializer[Any]):
    """A category with its number of capabilities and their first names."""

    category = serializers.CharField()
    count = serializers.IntegerField()
    names = serializers.ListField(child=serializers.CharField())
    more = serializers.IntegerField(help_text="Number of names left out.")


class CategoriesSerializer(serializers.Serializer[Any]):
    """The caller's categories."""

    categories = CategorySerializer(many=True)
    hint = serializers.CharField(
        help_text="The capabilities left out because their integrations are not connected."
    )


class BranchSerializer(serializers.Serializer[Any]):
    """An integration and its capabilities."""

    integration = serializers.CharField()
    title = serializers.CharField()
    capabilities = CapabilitySerializer(many=True)


class TreeSerializer(serializers.Serializer[Any]):
    """Integrations with their capabilities."""

    integrations = BranchSerializer(many=True)
    hint = serializers.CharField(
        help_text="The capabilities left out because their integrations are not connected."
    )


class NamesSerializer(serializers.Serializer[Any]):
    """All full names."""

    names = serializers.ListField(child=serializers.CharField())
    hint = serializers.CharField(
        help_text="The capabilities left out because their integrations are not connected."
    )
