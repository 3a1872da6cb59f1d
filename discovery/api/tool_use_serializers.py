"""Serializers of the tool use API."""

from typing import Any

from rest_framework import serializers

from discovery.api.turn_serializers import FiguresQuerySerializer


class ToolUseQuerySerializer(FiguresQuerySerializer):
    """A period, a group, and the length of the lists."""

    limit = serializers.IntegerField(default=20, min_value=1, max_value=1000)


class CalledToolSerializer(serializers.Serializer[Any]):
    """Calls of a tool."""

    full_name = serializers.CharField()
    times = serializers.IntegerField(help_text="In how many turns.")
    selected = serializers.IntegerField(help_text="In how many of these it had been selected.")
    failed = serializers.IntegerField(help_text="How many of these failed.")
    last_at = serializers.DateTimeField()


class IdleToolSerializer(serializers.Serializer[Any]):
    """A tool without calls."""

    full_name = serializers.CharField()
    display_name = serializers.CharField()
    selected = serializers.IntegerField(help_text="In how many turns it was selected.")


class TroubledToolSerializer(serializers.Serializer[Any]):
    """A tool with failing or refused calls through Pegboard."""

    full_name = serializers.CharField()
    calls = serializers.IntegerField(help_text="Calls that ended.")
    failed = serializers.IntegerField(help_text="That failed, or whose outcome is unknown.")
    refused = serializers.IntegerField(help_text="That a person refused, or nobody approved.")
    reason = serializers.CharField(help_text="The one that was given most often.")


class ToolUseSerializer(serializers.Serializer[Any]):
    """Use of tools in a period."""

    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    group = serializers.CharField(allow_null=True)
    offered = serializers.IntegerField(help_text="How many there are to be selected.")
    called = CalledToolSerializer(many=True)
    called_count = serializers.IntegerField()
    in_vain = IdleToolSerializer(many=True, help_text="Selected most, never called.")
    in_vain_count = serializers.IntegerField()
    never = IdleToolSerializer(many=True)
    never_count = serializers.IntegerField()
    troubled = TroubledToolSerializer(many=True)
    lost_turns = serializers.IntegerField(
        help_text="Turns in which something was looked for in vain, or choosing failed."
    )
