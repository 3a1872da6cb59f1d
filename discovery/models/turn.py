"""Turns: selections and plans, with what followed."""

import uuid
from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import Group
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from acl.models import ChainColumns, ConversationColumns, Space
from acl.platform.stored_json import StoredJSONField

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
            models.Index(
                fields=["application", "-created_at"],
                condition=Q(application__isnull=False),
                name="discovery_turn_of_app",
            ),
            models.Index(
                fields=["conversation", "-created_at"],
                condition=~Q(conversation=""),
                name="discovery_turn_in_chat",
            ),
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
