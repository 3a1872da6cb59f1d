"""Serializers of the review endpoints."""

from typing import Any

from rest_framework import serializers

from acl.http.strict_serializer import StrictSerializer, Text
from catalog.models import Definition
from marketplace.listings.finding_serializer import FindingSerializer

MOST = 1_000


class FieldSerializer(serializers.Serializer[Any]):
    """A field, with hidden characters escaped."""

    field = serializers.CharField(source="label")
    changed = serializers.BooleanField(source="is_changed")
    before = serializers.CharField()
    after = serializers.CharField()


class DefinitionSerializer(serializers.Serializer[Any]):
    """A tool's definition beside the approved one."""

    name = serializers.CharField()
    standing = serializers.ChoiceField(["new", "changed", "returned", "gone", "rejected"])
    seen = serializers.CharField(help_text="To be sent back: names exactly this text.")
    origin = serializers.ChoiceField(
        [value for value, _ in Definition.Origin.choices], help_text="How the definition came."
    )
    file = serializers.CharField(
        source="source", help_text="The file that it was read from, or empty."
    )
    problem = serializers.CharField(help_text="Why it cannot be stored; empty where it can.")
    findings = FindingSerializer(many=True)
    differences = FieldSerializer(many=True, source="fields")


class ReviewSerializer(serializers.Serializer[Any]):
    """Definitions of an integration to review."""

    integration = serializers.CharField()
    waiting = serializers.IntegerField()
    is_update = serializers.BooleanField(help_text="Whether an update waits for this.")
    seen = serializers.CharField(help_text="Names all that waits, to approve it together.")
    about = FindingSerializer(many=True, help_text="What is to be seen about the server itself.")
    definitions = DefinitionSerializer(many=True)


class DecisionSerializer(StrictSerializer):
    """Definitions with the digests that were seen."""

    definitions = serializers.DictField(
        child=serializers.RegexField(r"^[0-9a-f]{64}$"),
        required=False,
        help_text="`seen` of each definition, by its name.",
    )


class ApprovalSerializer(DecisionSerializer):
    """Definitions to approve: some, or all pending ones."""

    seen = Text(max_length=64, required=False, help_text="Of the review: approves all that wait.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require exactly one of `definitions` and `seen`."""
        if bool(attrs.get("definitions")) == bool(attrs.get("seen")):
            raise serializers.ValidationError("Give either `definitions` or `seen`.")
        return attrs


class RejectionSerializer(DecisionSerializer):
    """Definitions to reject."""

    definitions = serializers.DictField(
        child=serializers.RegexField(r"^[0-9a-f]{64}$"),
        allow_empty=False,
        help_text="`seen` of each definition, by its name.",
    )


class ReviewedSerializer(serializers.Serializer[Any]):
    """Number of decisions, and of definitions that still wait."""

    decided = serializers.IntegerField()
    waiting = serializers.IntegerField()
