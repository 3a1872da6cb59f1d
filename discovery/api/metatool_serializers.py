"""Serializers of the APIs of meta-tools and calls."""

from typing import Any, get_args

from rest_framework import serializers

from acl.http.caller_serializer import CallerSerializer
from acl.http.strict_serializer import StrictSerializer, Text
from acl.models import ApiKey
from catalog.models import Capability
from discovery.calls.call_view import Status

STATUSES = get_args(Status)


class MetaToolSerializer(serializers.Serializer[Any]):
    """A meta-tool as a model sees it."""

    name = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField()
    input_schema = serializers.DictField()
    scope = serializers.ChoiceField(
        [ApiKey.Scope.DISCOVER, ApiKey.Scope.EXECUTE],
        help_text="What a key needs to call it; `select` does for `discover`.",
    )
    side_effect = serializers.ChoiceField(Capability.SideEffect.choices)
    tokens = serializers.IntegerField(
        help_text="Name, description and arguments in a model's list, estimated."
    )


class MetaToolsSerializer(serializers.Serializer[Any]):
    """All meta-tools, and the five that replace a catalogue that does not fit the context."""

    tools = MetaToolSerializer(many=True)
    exploring = serializers.ListField(child=serializers.CharField())
    exploring_tokens = serializers.IntegerField()


class MetaCallSerializer(CallerSerializer):
    """A call of a meta-tool for a caller."""

    arguments = serializers.DictField(default=dict, help_text="As the tool's schema says.")
    turn_id = serializers.UUIDField(
        required=False,
        allow_null=True,
        help_text="The turn whose selection was not enough, so that searching counts as its.",
    )


class MetaAnswerSerializer(serializers.Serializer[Any]):
    """A meta-tool's answer: pass `result` to the model unchanged."""

    name = serializers.CharField()
    result = serializers.DictField()


class ExecuteRequestSerializer(CallerSerializer):
    """A call of a capability for a caller."""

    name = Text(min_length=1, max_length=200, help_text="Its full name.")
    arguments = serializers.DictField(default=dict, help_text="As its schema says.")
    turn_id = serializers.UUIDField(
        required=False,
        allow_null=True,
        help_text="The turn in which it is called: the turn's outcome then counts it as called.",
    )


class ResultSerializer(serializers.Serializer[Any]):
    """A tool's answer: MCP content blocks as received."""

    content = serializers.ListField(
        child=serializers.DictField(), help_text="Blocks of `text`, `image`, `audio`, `resource` …"
    )
    structured = serializers.JSONField(required=False, help_text="As its output schema says.")
    is_error = serializers.BooleanField(help_text="The tool itself says that it failed.")


class ExecutionSerializer(serializers.Serializer[Any]):
    """A call's outcome."""

    status = serializers.ChoiceField(
        STATUSES,
        help_text="`client_executes`: carry it out with these arguments. `approval_needed`: "
        "nothing has been run, a person looks at it. `running`: ask for the call later. "
        "`unknown`: it was sent, and whether it was carried out is not known.",
    )
    tool = serializers.CharField()
    message = serializers.CharField(help_text="The same in words, for the model.")
    call_id = serializers.UUIDField(help_text="To ask for it later.")
    content = serializers.CharField(required=False, help_text="A skill's instructions.")
    truncated = serializers.BooleanField()
    arguments = serializers.DictField(required=False, help_text="The checked arguments.")
    result = ResultSerializer(
        required=False,
        help_text="A tool's answer. Meta-tools that are capabilities have their own.",
    )
    reason = serializers.CharField(required=False, help_text="Why it failed, for programs.")
    note = serializers.CharField(required=False, help_text="What the person said who decided.")
    expires_at = serializers.DateTimeField(
        required=False, help_text="Until when it waits for approval."
    )


class CallQuerySerializer(StrictSerializer):
    """The longest time to wait."""

    wait = serializers.FloatField(
        default=0, min_value=0, max_value=60, help_text="Seconds until its end, at the most."
    )


class CallEventsQuerySerializer(StrictSerializer):
    """The longest time to follow."""

    wait = serializers.FloatField(
        default=60, min_value=0, max_value=60, help_text="Seconds until the stream ends, at most."
    )
