"""Serializers of runtime capabilities."""

from datetime import datetime, timedelta
from typing import Any

from django.core.validators import RegexValidator
from rest_framework import serializers

from acl.http.strict_serializer import Flag, StrictSerializer, Text
from acl.platform.clock import database_now
from catalog.formats.runtime import RUNTIME_KINDS
from catalog.runtime.runtime_list import STATUSES

LONGEST_LIFE = timedelta(days=365)
_CHANGES = ("approved", "promoted", "retired")


class MakerSerializer(StrictSerializer):
    """Owner and proposing group, as a request names them."""

    user = Text(
        max_length=150,
        required=False,
        help_text="The owner's name; defaults to the key's owner or the signed-in person.",
    )
    group = Text(
        max_length=150,
        required=False,
        help_text="The proposing group; needed if the person has several that the key covers.",
    )


class DefinitionFieldsSerializer(MakerSerializer):
    """A definition without its name and kind."""

    description = Text(max_length=8_000)
    display_name = Text(max_length=200, required=False)
    category = Text(max_length=60, required=False)
    tags = serializers.ListField(child=Text(max_length=60), required=False, max_length=20)
    input_schema = serializers.DictField(required=False, help_text="A JSON schema of arguments.")
    content = Text(max_length=64_000, required=False, help_text="A skill's Markdown.")
    examples = serializers.ListField(child=Text(max_length=500), required=False, max_length=20)
    required_tools = serializers.ListField(
        child=Text(max_length=200), required=False, max_length=20
    )
    has_side_effects = Flag(required=False)
    expires_at = serializers.DateTimeField(
        required=False, help_text="At most a year ahead; 30 days if a new one has none."
    )

    def validate_expires_at(self, value: datetime) -> datetime:
        """Refuse times in the past and more than a year ahead."""
        now = database_now()
        if not now < value <= now + LONGEST_LIFE:
            raise serializers.ValidationError("Must be in the future, at most a year ahead.")
        return value


class NewCapabilitySerializer(DefinitionFieldsSerializer):
    """A new capability."""

    kind = serializers.ChoiceField(RUNTIME_KINDS)
    name = Text(max_length=40, validators=[RegexValidator(r"^[a-zA-Z0-9][a-zA-Z0-9_-]*\Z")])


class StateChangeSerializer(StrictSerializer):
    """A decision of an admin."""

    state = serializers.ChoiceField(_CHANGES)
    seen = Text(
        max_length=64, required=False, default="", help_text="`definition` of the text approved."
    )
    groups = serializers.ListField(
        child=Text(max_length=150),
        required=False,
        default=list,
        max_length=50,
        help_text="Further groups that get a promoted capability.",
    )

    def validate(self, attrs: Any) -> Any:
        """Ask for what the decision needs."""
        if attrs["state"] == "approved" and not attrs["seen"]:
            raise serializers.ValidationError({"seen": "Send the digest of the text you approve."})
        if (attrs["state"] == "promoted") != bool(attrs["groups"]):
            raise serializers.ValidationError({"groups": "Give groups to promote, and only then."})
        return attrs


class ReviewFindingSerializer(serializers.Serializer[Any]):
    """A finding of the scanner in the pending definition."""

    code = serializers.CharField()
    severity = serializers.CharField(help_text="`high`, `medium` or `low`.")
    where = serializers.CharField(help_text="The place in the definition.")
    told = serializers.CharField()
    excerpt = serializers.CharField()


class RuntimeCapabilitySerializer(serializers.Serializer[Any]):
    """A runtime capability, its state and its review."""

    full_name = serializers.CharField()
    kind = serializers.ChoiceField(RUNTIME_KINDS)
    state = serializers.ChoiceField(STATUSES, source="status")
    definition = serializers.CharField(
        help_text="Digest of the definition in use; empty while it waits for a review."
    )
    review = serializers.ChoiceField(
        ("", "waiting", "rejected"),
        help_text="Of the definition that was sent last: empty if it passed.",
    )
    findings = ReviewFindingSerializer(many=True, help_text="Why it needs a review.")
    owner = serializers.CharField(help_text="Empty if the person was deleted.")
    group = serializers.CharField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True, help_text="Null once promoted.")


class OwnQuerySerializer(MakerSerializer):
    """Query for one's own runtime capabilities."""

    state = serializers.ChoiceField(STATUSES, required=False)
    limit = serializers.IntegerField(default=50, min_value=1, max_value=200)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=10_000)


class RuntimePageSerializer(serializers.Serializer[Any]):
    """A page of runtime capabilities, by full name."""

    items = RuntimeCapabilitySerializer(many=True)
    count = serializers.IntegerField()
    has_more = serializers.BooleanField()
