"""The bodies of the selector's calls."""

from typing import Any

from django.conf import settings
from rest_framework import serializers

from acl.http.answer_serializer import serializer_for
from acl.http.strict_serializer import Flag, Number, StrictSerializer, Text
from catalog.lookups.detail_levels import DETAILS
from catalog.lookups.lookup_serializers import KINDS
from discovery.answer.formats.provider_formats import FORMATS, NO_TOOLS, SEARCHING
from discovery.answer.modes import AUTO, MODES
from discovery.answer.selection_answer import SelectAnswer

MOST_HISTORY = 20
LARGEST_WINDOW = 100_000_000


class MessageSerializer(StrictSerializer):
    """A message and its sender."""

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
    """The context window of a model."""

    context_window = Number(
        required=False,
        min_value=1_000,
        max_value=LARGEST_WINDOW,
        help_text="The model's, in tokens; without it the deployment's.",
    )


class RoomSerializer(WindowSerializer):
    """The context window of a model, and deferred loading of definitions by its provider."""

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


SelectionInModeSerializer = serializer_for(SelectAnswer)


def _short_enough(message: str) -> str:
    if len(message) > settings.PEGBOARD_MAX_MESSAGE_CHARACTERS:
        raise serializers.ValidationError(
            f"At most {settings.PEGBOARD_MAX_MESSAGE_CHARACTERS} characters."
        )
    return message
