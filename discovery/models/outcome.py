"""The outcome of a turn, and the capabilities called in it."""

from typing import ClassVar

from django.contrib.auth.models import Group
from django.db import models
from django.db.models import F, Q

from acl.models import ApplicationColumns, ChainColumns, Space
from acl.platform.stored_json import StoredJSONField
from catalog.models import Capability
from discovery.models.turn import Turn


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
            models.Index(
                fields=["application", "-id"],
                condition=Q(application__isnull=False),
                name="discovery_outcome_of_app",
            ),
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


class OutcomeAlert(models.Model):
    """An alert: the rate of an outcome window fell below the threshold.

    `scope` is the window's key. Without a group it concerns the whole deployment.
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
