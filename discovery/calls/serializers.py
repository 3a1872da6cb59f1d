"""Serializers of the APIs of meta-tools and calls."""

from typing import Any, get_args

from rest_framework import serializers

from acl.models import ApiKey
from acl.web.api_views import CONVERSATION, CallerSerializer
from acl.web.serializers import StrictSerializer, Text, serializer_for
from catalog.models import Capability
from discovery.calls._questions import KINDS, STATES
from discovery.calls.arguments import TwoNamesError, rename_arguments
from discovery.calls.view import Status
from discovery.flow_guard.flow_guard import Cause, Source, ValueOrigin
from discovery.models import FlowMode

STATUSES = get_args(Status)
FLOW_SOURCES = get_args(Source)


class MetaToolSerializer(serializers.Serializer[Any]):
    """A meta-tool as a model sees it."""

    name = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField()
    input_schema = serializers.DictField()
    scope = serializers.ChoiceField(
        [ApiKey.Scope.DISCOVER, ApiKey.Scope.EXECUTE],
        help_text="The scope that a key needs; `select` includes `discover`.",
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

    arguments = serializers.DictField(
        default=dict, help_text="Arguments that match the tool's schema."
    )
    turn_id = serializers.UUIDField(
        required=False,
        allow_null=True,
        help_text="The turn that the search belongs to.",
    )


class MetaAnswerSerializer(serializers.Serializer[Any]):
    """A meta-tool's answer: pass `result` to the model unchanged."""

    name = serializers.CharField()
    result = serializers.DictField()


class ExecuteRequestSerializer(CallerSerializer):
    """A call of a capability for a caller."""

    name = Text(min_length=1, max_length=200, help_text="The tool's full name.")
    arguments = serializers.DictField(
        default=dict, help_text="Arguments that match the tool's schema."
    )
    turn_id = serializers.UUIDField(
        required=False,
        allow_null=True,
        help_text="The turn that the call belongs to; its outcome counts the tool as called.",
    )
    conversation = Text(**CONVERSATION)

    def to_internal_value(self, data: Any) -> Any:
        """Accept former names of `arguments`."""
        if not isinstance(data, dict):
            return super().to_internal_value(data)
        try:
            renamed = rename_arguments(data)
        except TwoNamesError as twice:
            raise serializers.ValidationError({twice.field: [str(twice)]}) from None
        return super().to_internal_value(renamed)


class ResultSerializer(serializers.Serializer[Any]):
    """A tool's answer: MCP content blocks as received."""

    content = serializers.ListField(
        child=serializers.DictField(), help_text="Blocks of `text`, `image`, `audio`, `resource` …"
    )
    structured = serializers.JSONField(
        required=False, help_text="Structured content that matches the output schema."
    )
    is_error = serializers.BooleanField(help_text="True if the tool reported an error.")


class FlowSerializer(serializers.Serializer[Any]):
    """The guard's verdict on a call."""

    mode = serializers.ChoiceField(FlowMode.choices)
    verdict = serializers.ChoiceField(["runs", "asks"])
    cause = serializers.ChoiceField([one for one in get_args(Cause) if one], required=False)
    reason = serializers.CharField(required=False, help_text="Why it asks, in a sentence.")
    advice = serializers.CharField(required=False, help_text="How the model may go on.")
    values = serializer_for(ValueOrigin)(many=True, required=False)
    blind = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Tools that the application carried out without telling their results.",
    )


class QuestionSerializer(serializers.Serializer[Any]):
    """A server's question during a call, without the values of its answer."""

    kind = serializers.ChoiceField(KINDS)
    state = serializers.ChoiceField(
        STATES,
        help_text="`asked`: the answer comes with the client's next call. `withheld`: the client "
        "was not asked.",
    )
    text = serializers.CharField(required=False, help_text="Its words, if somebody was asked.")
    asks_for = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="The names of its form's fields."
    )
    host = serializers.CharField(required=False, help_text="The host of the page to open.")


class ExecutionSerializer(serializers.Serializer[Any]):
    """A call's outcome."""

    status = serializers.ChoiceField(
        STATUSES,
        help_text="`client_executes`: carry it out with these arguments. `approval_needed`: "
        "nothing has been run; a person must decide. `running`: ask for the call later. "
        "`unknown`: it was sent, but it is not known whether it was carried out.",
    )
    tool = serializers.CharField()
    message = serializers.CharField(help_text="The status in words, for the model.")
    call_id = serializers.UUIDField(help_text="The id for reading the call later.")
    content = serializers.CharField(required=False, help_text="A skill's instructions.")
    truncated = serializers.BooleanField()
    arguments = serializers.DictField(required=False, help_text="The checked arguments.")
    result = ResultSerializer(
        required=False,
        help_text="A tool's answer. Meta-tools that are capabilities have their own.",
    )
    reason = serializers.CharField(
        required=False, help_text="Machine-readable reason of a failure."
    )
    note = serializers.CharField(required=False, help_text="The note of the person who decided.")
    expires_at = serializers.DateTimeField(required=False, help_text="When a pending call expires.")
    flow = FlowSerializer(required=False, help_text="What the guard on flows says of the call.")
    questions = QuestionSerializer(
        many=True, required=False, help_text="What the server asked the client meanwhile."
    )
    notice = serializers.CharField(
        required=False, help_text="Quotas that are near their end, when the call is made."
    )


class CallQuerySerializer(StrictSerializer):
    """The longest time to wait."""

    wait = serializers.FloatField(
        default=0, min_value=0, max_value=60, help_text="Maximum seconds to wait for its end."
    )


class CallEventsQuerySerializer(StrictSerializer):
    """The longest time to follow."""

    wait = serializers.FloatField(
        default=60, min_value=0, max_value=60, help_text="Maximum seconds until the stream ends."
    )
