"""Turns: selections and plans, with what followed."""

import uuid
from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import Group
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from acl.models import ApplicationColumns, ChainColumns, ConversationColumns, Space
from acl.models.application import index_of_application, index_of_conversation
from acl.platform.stored_json import StoredJSONField
from catalog.models import Capability

# What a plan offers if discovery fails: everything the caller may use, or nothing.
POLICIES = ("fail_open", "fail_closed")


class Turn(ChainColumns, ConversationColumns):
    """A selection or a plan. The message is stored only if PEGBOARD_KEEP_MESSAGES is set.

    `state` changes only by `discovery.turns.records`, which records the time of each change.
    """

    class State(models.TextChoices):
        PLANNED = "planned"
        EXECUTING = "executing"
        DEGRADED = "degraded"
        RECOVERED = "recovered"
        COMPLETED = "completed"
        ERRORED = "errored"

    class Mode(models.TextChoices):
        DISCOVERED = "discovered", "what fits the message"
        ALL = "all", "everything that the caller may use"

    erased: ClassVar = {
        "user": {"message": "", "conversation": "", "noted": None, "sealed_words": None},
        "actor": {"key_name": ""},
    }

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    group = models.ForeignKey(Group, models.CASCADE, related_name="+", db_index=False)
    space = models.ForeignKey(Space, models.SET_NULL, null=True, blank=True, related_name="+")
    other_groups = ArrayField(
        models.BigIntegerField(),
        default=list,
        blank=True,
        help_text="The user's other groups, where several answered together.",
    )
    message = models.TextField(blank=True)
    mode = models.CharField(max_length=10, choices=Mode.choices, default=Mode.DISCOVERED)
    plan = StoredJSONField(default=dict, blank=True, help_text="Empty for a mere selection.")
    selected = StoredJSONField(
        default=list, help_text="Ids and scores, best first; empty where the mode is all."
    )
    tokens_all = models.PositiveIntegerField(default=0)
    tokens_selected = models.PositiveIntegerField(default=0)
    degraded = StoredJSONField(default=list, help_text="What the answer did without.")
    milliseconds = models.FloatField(default=0)
    discovery_calls = models.PositiveSmallIntegerField(default=0)
    discovery_empty = models.PositiveSmallIntegerField(
        default=0, help_text="Discovery calls that found nothing."
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.PLANNED)
    noted = models.BinaryField(
        null=True, editable=False, help_text="To learn from, until the outcome is told."
    )
    sealed_words = models.BinaryField(
        null=True,
        editable=False,
        help_text="The message and the key of the readings, sealed, until the turn ends.",
    )
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    executing_at = models.DateTimeField(null=True, blank=True)
    degraded_at = models.DateTimeField(null=True, blank=True)
    recovered_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "pk"]
        indexes = [
            models.Index(fields=["group", "created_at"], name="discovery_turn_of_group"),
            index_of_application("discovery_turn"),
            index_of_conversation("discovery_turn"),
            models.Index(
                fields=["created_at"],
                condition=Q(noted__isnull=False),
                name="discovery_turn_noted",
            ),
            models.Index(
                fields=["created_at"], condition=~Q(message=""), name="discovery_turn_words"
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    state__in=[
                        "planned", "executing", "degraded", "recovered", "completed", "errored",
                    ]
                ),
                name="discovery_turn_state",
            ),
            models.CheckConstraint(
                condition=Q(mode__in=["discovered", "all"]), name="discovery_turn_mode"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["completed", "errored"], ended_at__isnull=False)
                | (~Q(state__in=["completed", "errored"]) & Q(ended_at__isnull=True)),
                name="discovery_turn_end",
            ),
            models.CheckConstraint(
                condition=Q(recovered_at__isnull=True) | Q(degraded_at__isnull=False),
                name="discovery_turn_recovered_from",
            ),
            models.CheckConstraint(
                condition=Q(discovery_empty__lte=F("discovery_calls")),
                name="discovery_turn_calls",
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return str(self.id)


class DayFigures(models.Model):
    """Sums of a group's turns of one day (UTC) whose rows retention has deleted, by measure."""

    begins = models.DateTimeField()
    group = models.ForeignKey(Group, models.CASCADE, related_name="+")
    sums = StoredJSONField()

    class Meta:
        ordering = ["begins", "group"]
        verbose_name_plural = "day figures"
        constraints = [
            models.UniqueConstraint(fields=["begins", "group"], name="discovery_day_once")
        ]

    def __str__(self) -> str:
        return f"{self.begins:%Y-%m-%d} of {self.group_id}"


# Progress of the first steps that no other row shows.


class FirstRun(models.Model):
    """Times of a user's first tried message, and of hiding the first steps."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+"
    )
    tried_at = models.DateTimeField(null=True, blank=True)
    hidden_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        verbose_name = "first run"

    def __str__(self) -> str:
        return f"first run of {self.user_id}"


# The outcome of a turn, and the capabilities called in it.


class Outcome(ChainColumns, ApplicationColumns):
    """The outcome of a turn. Windows use the newest ones by primary key."""

    erased: ClassVar = {"turn__user": {"note": "", "key_name": ""}, "actor": {"key_name": ""}}

    class Status(models.TextChoices):
        SUCCESS = "success"
        PARTIAL = "partial"
        FAILED = "failed"

    class Source(models.TextChoices):
        REPORTED = "reported"
        WORKED_OUT = "worked_out", "worked out"

    turn = models.OneToOneField(Turn, models.CASCADE, related_name="outcome")
    group = models.ForeignKey(Group, models.CASCADE, related_name="+", db_index=False)
    # Kept if the space is deleted: NULL means the root, whose window these outcomes would distort.
    space = models.ForeignKey(
        Space,
        models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        blank=True,
        related_name="+",
    )
    status = models.CharField(max_length=8, choices=Status.choices)
    score = models.FloatField(help_text="0 to 1.")
    source = models.CharField(max_length=10, choices=Source.choices)
    called = StoredJSONField(default=list, blank=True, help_text="Names as they were reported.")
    called_known = models.PositiveSmallIntegerField(
        default=0, help_text="How many of them the caller may use."
    )
    called_selected = models.PositiveSmallIntegerField(
        default=0, help_text="How many of those had been selected."
    )
    note = models.CharField(max_length=500, blank=True)
    at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["group", "space", "-id"], name="discovery_outcome_of_space"),
            models.Index(fields=["group", "-id"], name="discovery_outcome_of_group"),
            index_of_application("discovery_outcome", newest="-id"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=["success", "partial", "failed"]),
                name="discovery_outcome_status",
            ),
            models.CheckConstraint(
                condition=Q(score__gte=0, score__lte=1), name="discovery_outcome_score"
            ),
            models.CheckConstraint(
                condition=Q(called_selected__lte=F("called_known")), name="discovery_outcome_called"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.turn_id}: {self.status} ({self.score:g})"


class Called(models.Model):
    """A capability called in a turn; its name remains if it is deleted."""

    outcome = models.ForeignKey(Outcome, models.CASCADE, related_name="known_calls", db_index=False)
    capability = models.ForeignKey(Capability, models.SET_NULL, null=True, related_name="+")
    full_name = models.CharField(max_length=64)
    selected = models.BooleanField(help_text="Whether the turn had offered it.")

    class Meta:
        verbose_name_plural = "called"
        ordering = ["outcome", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["outcome", "full_name"], name="discovery_called_once")
        ]

    def __str__(self) -> str:
        return self.full_name


# Alerts on bad outcomes.


class OutcomeAlert(ApplicationColumns):
    """An alert: the rate of an outcome window fell below the threshold.

    `scope` is the window's key. Without a group it concerns the whole deployment. That of an
    application names it, and the group that owns it.
    """

    class Severity(models.TextChoices):
        WARNING = "warning"
        CRITICAL = "critical"

    scope = models.CharField(max_length=60)
    group = models.ForeignKey(Group, models.CASCADE, null=True, blank=True, related_name="+")
    space = models.ForeignKey(
        Space,
        models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        blank=True,
        related_name="+",
    )
    severity = models.CharField(max_length=8, choices=Severity.choices)
    reason = models.CharField(max_length=200)
    threshold = models.FloatField()
    value = models.FloatField(help_text="The weighted rate that was below it.")
    samples = models.PositiveIntegerField()
    at = models.DateTimeField()
    seen_at = models.DateTimeField(null=True, help_text="When an admin marked it as seen.")

    class Meta:
        ordering = ["-at", "-pk"]
        indexes = [models.Index(fields=["scope", "-at"], name="discovery_alert_of_scope")]
        constraints = [
            models.CheckConstraint(
                condition=Q(severity__in=["warning", "critical"]), name="discovery_alert_severity"
            )
        ]

    def __str__(self) -> str:
        return f"{self.scope}: {self.reason}"

    @property
    def whose(self) -> str:
        """Return the name of the application or group that it concerns, or "" for everyone. Needs
        its related rows. A deleted application has its number."""
        if self.application_id is not None:
            return self.application.name if self.application else f"#{self.application_id}"
        return self.group.name if self.group else ""
