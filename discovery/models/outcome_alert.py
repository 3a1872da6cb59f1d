"""Alerts on bad outcomes."""

from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q

from acl.models import Space


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
