"""Serializers of plans, turns, outcomes and figures."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from acl.models.application import LONGEST_NAME
from acl.web.serializers import Flag, Share, StrictSerializer, Text, serializer_for
from discovery.insights.figures import Figure
from discovery.models import Outcome, OutcomeAlert, Turn
from discovery.models.turn import POLICIES
from discovery.turns._plan import Decided, PlanAnswer
from discovery.turns.outcome_windows import Window
from discovery.turns.records import TurnDescription, TurnStep
from discovery.turns.select_serializers import SelectRequestSerializer, WindowSerializer

MOST_CALLED = 50
MOST_RESULTS = 20
SCOPES = ("space", "group", "global", "application")


class PlanRequestSerializer(WindowSerializer, SelectRequestSerializer):
    """A message to plan a turn for. Policy, mode and kind override what is set up."""

    failure_policy = serializers.ChoiceField(
        POLICIES,
        required=False,
        help_text="What the turn offers if discovery fails: everything or nothing.",
    )
    selection_mode = serializers.ChoiceField(
        Turn.Mode.choices,
        required=False,
        help_text="Whether the turn offers matches or everything.",
    )
    include_prompt = Flag(default=True, help_text="Whether to include `prompt`.")


class OutcomeWindowSerializer(serializer_for(Window)):  # type: ignore[misc]  # a class, made there
    """The latest outcomes of a place taken together."""

    scope = serializers.ChoiceField(SCOPES, source="scope.kind")


class OutcomePlaceSerializer(serializers.Serializer[Any]):
    """Group and space of a window or alert; null for all groups, or for the root. That of an
    application has its name."""

    group = serializers.CharField(allow_null=True)
    space = serializers.CharField(allow_null=True)
    application = serializers.CharField(allow_null=True)


class NamedWindowSerializer(OutcomeWindowSerializer):
    """An outcome window with its group and space."""

    place = OutcomePlaceSerializer()


class WindowsSerializer(serializers.Serializer[Any]):
    """All windows that have samples."""

    windows = NamedWindowSerializer(many=True)


class AlertSerializer(serializers.ModelSerializer[OutcomeAlert]):
    """An alert on a rate below its threshold."""

    class Meta:
        model = OutcomeAlert
        fields: tuple[str, ...] = ("severity", "reason", "threshold", "value", "samples", "at")


class NamedAlertSerializer(AlertSerializer):
    """An alert with its group and space."""

    place = OutcomePlaceSerializer()

    class Meta(AlertSerializer.Meta):
        fields: tuple[str, ...] = (*AlertSerializer.Meta.fields, "place")


class AlertsSerializer(serializers.Serializer[Any]):
    """A page of alerts, the latest first."""

    alerts = NamedAlertSerializer(many=True)
    total = serializers.IntegerField()
    limit = serializers.IntegerField()
    offset = serializers.IntegerField()


class PlanSerializer(serializer_for(PlanAnswer)):  # type: ignore[misc]  # a class, made there
    """The plan: a selection as `POST select` answers it, and what was decided. Where everything is
    offered, `selected` is empty, and `tools` and `prompt` have it."""

    window = OutcomeWindowSerializer(
        allow_null=True, help_text="The outcome window that changed the decision, if one did."
    )


class ToldResultSerializer(StrictSerializer):
    """Result of a call that the application carried out itself."""

    name = Text(min_length=1, max_length=200, help_text="The tool's full name.")
    arguments = serializers.DictField(default=dict, help_text="The arguments it was called with.")
    result = serializers.JSONField(
        help_text="A text, an MCP result with `content`, or any JSON; 65,536 characters count."
    )
    call_id = serializers.UUIDField(
        required=False,
        allow_null=True,
        help_text="The `call_id` that `execute` answered; else the turn's oldest call of the name.",
    )


class TurnResultsRequestSerializer(StrictSerializer):
    """Results of one turn, in the order in which the model read them."""

    results = serializers.ListField(
        child=ToldResultSerializer(), min_length=1, max_length=MOST_RESULTS
    )


class TurnResultsSerializer(serializers.Serializer[Any]):
    """Number of results taken."""

    turn_id = serializers.UUIDField()
    told = serializers.IntegerField()


class CalledSerializer(serializers.Serializer[Any]):
    """Call of a capability in the turn."""

    full_name = serializers.CharField()
    selected = serializers.BooleanField(help_text="Whether the turn had offered it.")


class OutcomeSerializer(serializers.ModelSerializer[Outcome]):
    """Outcome of a turn."""

    class Meta:
        model = Outcome
        fields: tuple[str, ...] = ("status", "score", "source", "note", "at")


class PickedSerializer(serializers.Serializer[Any]):
    """Selection of a capability in the turn."""

    id = serializers.CharField()
    score = serializers.FloatField()


class TurnFlowSerializer(serializers.Serializer[Any]):
    """Calls of the turn that the guard on flows judged."""

    judged = serializers.IntegerField()
    asked = serializers.IntegerField(help_text="Calls about which it would ask, in any mode.")
    approved = serializers.IntegerField()
    refused = serializers.IntegerField(help_text="By its mode, or by a person.")


class TurnSerializer(serializers.Serializer[Any]):
    """The current state of a turn."""

    turn_id = serializers.UUIDField(source="turn.pk")
    user = serializers.CharField(source="turn.user.username")
    group = serializers.CharField(source="turn.group.name")
    space = serializers.CharField(source="turn.space.slug", allow_null=True, default=None)
    state = serializers.ChoiceField(Turn.State.choices, source="turn.state")
    lifecycle = serializer_for(TurnStep)(many=True)
    selection_mode = serializers.ChoiceField(Turn.Mode.choices, source="turn.mode")
    plan = serializers.SerializerMethodField()
    selected = PickedSerializer(
        many=True, help_text="Selected capabilities that the user may use now."
    )
    called = CalledSerializer(many=True, help_text="Called capabilities that the user may use now.")
    outcome = OutcomeSerializer(allow_null=True)
    degraded_because = serializers.ListField(child=serializers.CharField(), source="turn.degraded")
    tokens_all = serializers.IntegerField(source="turn.tokens_all")
    tokens_selected = serializers.IntegerField(source="turn.tokens_selected")
    discovery_calls = serializers.IntegerField(source="turn.discovery_calls")
    discovery_empty = serializers.IntegerField(source="turn.discovery_empty")
    flow = TurnFlowSerializer()

    @extend_schema_field(serializer_for(Decided)(allow_null=True))
    def get_plan(self, description: TurnDescription) -> dict[str, Any] | None:
        """Null for a selection without a plan."""
        return description.turn.plan or None


class OutcomeRequestSerializer(StrictSerializer):
    """Report of an outcome, with at most one of status, score and taskSuccess.

    Without any of them the outcome is inferred from the calls.
    """

    status = serializers.ChoiceField(Outcome.Status.choices, required=False)
    score = Share(required=False)
    taskSuccess = Flag(required=False)
    called = serializers.ListField(
        child=Text(max_length=128),
        required=False,
        max_length=MOST_CALLED,
        help_text="Full names of the called capabilities.",
    )
    note = Text(required=False, allow_blank=True, max_length=500)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        names = [name for name in ("status", "score", "taskSuccess") if name in attrs]
        if len(names) > 1:
            raise serializers.ValidationError(
                {names[1]: [f"Only one of {' and '.join(names)} can be told."]}
            )
        return attrs


class ReportedSerializer(serializers.Serializer[Any]):
    """Result of the report."""

    turn_id = serializers.UUIDField()
    state = serializers.ChoiceField(Turn.State.choices)
    status = serializers.ChoiceField(Outcome.Status.choices)
    score = serializers.FloatField()
    source = serializers.ChoiceField(  # type: ignore[assignment]  # the class's own is a text
        Outcome.Source.choices, help_text="Whether the outcome was reported or inferred."
    )
    called = CalledSerializer(many=True, help_text="Called capabilities that the user may use.")
    window = OutcomeWindowSerializer(
        allow_null=True, help_text="Null if it also contains outcomes of other groups."
    )
    alert = AlertSerializer(allow_null=True, help_text="The alert that this outcome raised.")


class GroupQuerySerializer(StrictSerializer):
    """Group to report on."""

    group = Text(
        max_length=150,
        required=False,
        default="",
        allow_blank=True,
        help_text="The group's name. A key has its own group; staff see all groups by default.",
    )


class AlertsQuerySerializer(GroupQuerySerializer):
    """A page of alerts."""

    limit = serializers.IntegerField(default=50, min_value=1, max_value=200)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=100_000)


class FiguresQuerySerializer(GroupQuerySerializer):
    """A period, a group and an application."""

    application = Text(
        max_length=LONGEST_NAME,
        required=False,
        default="",
        allow_blank=True,
        help_text="Only what this chat application asked for.",
    )

    since = serializers.DateTimeField(
        required=False, help_text="Start of the period; defaults to 30 days ago."
    )
    until = serializers.DateTimeField(
        required=False, help_text="End of the period; defaults to now."
    )


class FiguresByQuerySerializer(FiguresQuerySerializer):
    """A period, a group, and the step."""

    by = serializers.ChoiceField(
        ("day", "hour"), default="day", help_text="Whether to fill `days` or `hours`."
    )


FigureSerializer = serializer_for(Figure)


class FiguresSerializer(serializers.Serializer[Any]):
    """The five figures, with two for latency."""

    tokens_saved = FigureSerializer(
        help_text="Share of the tokens of all definitions that was not sent."
    )
    called_among_selected = FigureSerializer(
        help_text="Share of the turns with a call in which a called tool had been selected."
    )
    discovery_used = FigureSerializer(help_text="Share of turns in which the model searched.")
    discovery_empty = FigureSerializer(help_text="Share of its searches that found nothing.")
    added_latency_ms = FigureSerializer(
        help_text="Median; the target is the median of the previous period."
    )
    added_latency_p95_ms = FigureSerializer(
        help_text="p95; the target is the p95 of the previous period."
    )


class CountsSerializer(serializers.Serializer[Any]):
    """Counts behind the figures."""

    turns = serializers.IntegerField()
    turns_with_all = serializers.IntegerField()
    turns_degraded = serializers.IntegerField()
    turns_with_discovery = serializers.IntegerField()
    discovery_calls = serializers.IntegerField()
    discovery_empty = serializers.IntegerField()
    tokens_all = serializers.IntegerField()
    tokens_saved = serializers.IntegerField()
    median_ms = serializers.FloatField(allow_null=True)
    p95_ms = serializers.FloatField(allow_null=True)
    outcomes = serializers.IntegerField()
    reported = serializers.IntegerField()
    success = serializers.IntegerField()
    partial = serializers.IntegerField()  # type: ignore[assignment]  # the class's own is a flag
    failed = serializers.IntegerField()
    average_score = serializers.FloatField(allow_null=True)
    turns_that_called = serializers.IntegerField()
    turns_that_hit = serializers.IntegerField()
    called = serializers.IntegerField()
    called_selected = serializers.IntegerField()


class DaySerializer(serializers.Serializer[Any]):
    """A day in UTC; days without turns are omitted."""

    day = serializers.DateField()
    counts = CountsSerializer()
    figures = FiguresSerializer()


class HourSerializer(serializers.Serializer[Any]):
    """An hour; hours without turns are omitted."""

    at = serializers.DateTimeField(help_text="Start of the day or hour.")
    counts = CountsSerializer()
    figures = FiguresSerializer()


class BeforeSerializer(serializers.Serializer[Any]):
    """The equally long period before; its latency has no baseline."""

    counts = CountsSerializer()
    figures = FiguresSerializer()


class ReportSerializer(serializers.Serializer[Any]):
    """Report of a period."""

    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    group = serializers.CharField(allow_null=True)
    counts = CountsSerializer()
    figures = FiguresSerializer()
    before = BeforeSerializer()
    days = DaySerializer(many=True)
    hours = HourSerializer(many=True)
