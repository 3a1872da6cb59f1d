"""The bodies of the selector's calls."""

from typing import Any

from django.conf import settings
from rest_framework import serializers

from acl.http.strict_serializer import Flag, Number, StrictSerializer, Text
from catalog.lookups.detail_levels import DETAILS
from catalog.lookups.lookup_serializers import KINDS
from catalog.models import Capability
from discovery.answer.formats.provider_formats import FORMATS, NO_TOOLS, SEARCHING
from discovery.answer.modes import AUTO, MODES

MOST_HISTORY = 20
LARGEST_WINDOW = 100_000_000


class MessageSerializer(StrictSerializer):
    """A message and who it is from."""

    message = Text(min_length=1, help_text="What the user wrote.")
    user = Text(
        required=False,
        allow_null=True,
        max_length=150,
        help_text="The user's name. Without it the key's owner, or the person logged in.",
    )
    group = Text(
        required=False,
        allow_null=True,
        max_length=150,
        help_text="The group's name. A key acts in its own group only.",
    )
    space = Text(
        required=False,
        allow_null=True,
        max_length=60,
        help_text="The space's slug; without it the group's root.",
    )
    history = serializers.ListField(
        child=Text(allow_blank=True),
        required=False,
        max_length=MOST_HISTORY,
        help_text="The conversation's last messages, oldest first.",
    )
    kind = serializers.ChoiceField(
        KINDS, default="any", help_text="`any` and `all` mean every kind."
    )
    use_graph = Flag(
        default=True,
        help_text="Whether related results gain, and what they need is pulled in.",
    )
    format = serializers.ChoiceField(
        (*FORMATS, NO_TOOLS), default="mcp", help_text="How `tools` is written; null for `none`."
    )

    def validate_message(self, message: str) -> str:
        return _short_enough(message)

    def validate_history(self, history: list[str]) -> list[str]:
        return [_short_enough(message) for message in history]


class SelectRequestSerializer(MessageSerializer):
    """A message, and how much is wanted for it."""

    max_tools = Number(required=False, min_value=1, max_value=50)
    only_available = Flag(default=True)
    detail = serializers.ChoiceField(
        DETAILS, default="full_schema", help_text="How much `selected` says about each."
    )
    explain = Flag(default=False, help_text="Adds the shares of evidence to each.")


class WindowSerializer(serializers.Serializer[Any]):
    """What a model has room for."""

    context_window = Number(
        required=False,
        min_value=1_000,
        max_value=LARGEST_WINDOW,
        help_text="The model's, in tokens; without it the deployment's.",
    )


class RoomSerializer(WindowSerializer):
    """What a model has room for, and whether its provider keeps definitions until they are
    found."""

    defer_loading = Flag(
        default=False,
        help_text=f"Definitions wait until a search finds them: {', '.join(SEARCHING)} only.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["defer_loading"] and attrs["format"] not in SEARCHING:
            reason = f"Only with the formats {', '.join(SEARCHING)}."
            raise serializers.ValidationError({"defer_loading": [reason]})
        return attrs


class SelectInModeRequestSerializer(RoomSerializer, SelectRequestSerializer):
    """A message, and in which mode capabilities are put before the model."""

    mode = serializers.ChoiceField(
        (*MODES, AUTO),
        default="selected",
        help_text="`auto` takes the first of `direct`, `compact_direct` and `discovery` that fits.",
    )


class SelectedSerializer(serializers.Serializer[Any]):
    """One selected capability and the reasons for it."""

    id = serializers.CharField()
    full_name = serializers.CharField(help_text="The name that a model calls.")
    kind = serializers.ChoiceField(Capability.Kind.choices)
    integration = serializers.CharField()
    display_name = serializers.CharField()
    score = serializers.FloatField(min_value=0, max_value=1)
    reasons = serializers.ListField(child=serializers.CharField())
    access = serializers.ChoiceField(["runs", "asks first"])
    available = serializers.BooleanField()
    core = serializers.BooleanField()
    pinned = serializers.BooleanField()
    description = serializers.CharField(
        required=False, help_text="At most 60 characters below `compact_schema`."
    )
    category = serializers.CharField(required=False)
    side_effect = serializers.ChoiceField(Capability.SideEffect.choices, required=False)
    alternatives = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="The same definition on other integrations.",
    )
    micro_schema = serializers.DictField(
        required=False, allow_null=True, help_text="The arguments in Pegboard's short notation."
    )
    input_schema = serializers.DictField(
        required=False,
        allow_null=True,
        help_text="A JSON schema; at `compact_schema` without the words for people.",
    )
    tokens = serializers.IntegerField(
        help_text="What this entry costs a model that reads it as it is here, estimated."
    )
    evidence = serializers.DictField(child=serializers.FloatField(), required=False)


class TokensSerializer(serializers.Serializer[Any]):
    """Estimates: everything the caller may use, what was selected, the difference."""

    all = serializers.IntegerField()
    selected = serializers.IntegerField()
    saved = serializers.IntegerField()
    injected = serializers.IntegerField(
        required=False, help_text="What `prompt` and `tools` cost as they are written."
    )


class ModeSerializer(serializers.Serializer[Any]):
    """How much is put before the model, and why."""

    mode = serializers.ChoiceField(MODES)
    reason = serializers.CharField()
    budget = serializers.IntegerField(help_text="In tokens; 0 where none was asked for.")


class RenamedSerializer(serializers.Serializer[Any]):
    """What a provider calls otherwise than the catalogue does."""

    full_name = serializers.CharField()
    arguments = serializers.DictField(
        child=serializers.CharField(), help_text="The arguments' own names by the others."
    )


class ToolsSerializer(serializers.Serializer[Any]):
    """What goes into the request to the model."""

    tools = serializers.ListField(child=serializers.DictField(), allow_null=True)
    renamed = serializers.DictField(
        child=RenamedSerializer(),
        help_text="By names in `tools`: what to call instead. Most have no entry.",
    )
    search_result = serializers.JSONField(
        required=False,
        help_text="With `defer_loading`: what answers the model's search, in its provider's form.",
    )


class SelectionSerializer(serializers.Serializer[Any]):
    """The answer to a message."""

    selected = SelectedSerializer(many=True)
    core_included = serializers.ListField(child=serializers.CharField())
    excluded_count = serializers.IntegerField(help_text="Of what the caller may use.")
    reason = serializers.CharField()
    discovery_suggested = serializers.BooleanField()
    direct = serializers.CharField(
        allow_null=True, help_text="One capability so far ahead that no model needs to choose."
    )
    degraded = serializers.BooleanField()
    degraded_because = serializers.ListField(child=serializers.CharField())
    turn_id = serializers.UUIDField(allow_null=True)
    tokens = TokensSerializer()
    prompt = serializers.CharField(allow_blank=True)
    tools = serializers.ListField(child=serializers.DictField(), allow_null=True)
    timings = serializers.DictField(
        child=serializers.FloatField(), help_text="Milliseconds by part."
    )


class SelectionInModeSerializer(ToolsSerializer, SelectionSerializer):
    """The answer to a message, in the mode that was asked for."""

    mode = ModeSerializer()


def _short_enough(message: str) -> str:
    if len(message) > settings.PEGBOARD_MAX_MESSAGE_CHARACTERS:
        raise serializers.ValidationError(
            f"At most {settings.PEGBOARD_MAX_MESSAGE_CHARACTERS} characters."
        )
    return message
