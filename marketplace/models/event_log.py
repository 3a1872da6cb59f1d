"""Progress of the event log: which audit entries and calls were sent."""

from django.db import models
from django.utils import timezone


class EventLogState(models.Model):
    """The single row with the place in both logs, and the error of the last attempt."""

    audit_number = models.BigIntegerField(default=0, help_text="Of the last entry that was sent.")
    calls_until = models.DateTimeField(
        default=timezone.now, help_text="When the last call ended that was sent."
    )
    sent_at = models.DateTimeField(null=True)
    failure = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        default_permissions = ()
        constraints = [
            models.CheckConstraint(condition=models.Q(pk=1), name="marketplace_eventlogstate_one")
        ]

    def __str__(self) -> str:
        return f"{self.audit_number}, {self.calls_until}"


class SentCall(models.Model):
    """A sent call, kept for an hour: calls commit in another order than they end."""

    call_id = models.UUIDField(primary_key=True)
    ended_at = models.DateTimeField(db_index=True)

    class Meta:
        default_permissions = ()
        ordering = ["ended_at", "pk"]

    def __str__(self) -> str:
        return str(self.call_id)


# The last recorded anchor of the audit log.


class AuditAnchor(models.Model):
    """The single row with the last anchor, and the error of the last attempt."""

    number = models.BigIntegerField(default=0)
    noted_at = models.DateTimeField(null=True)
    failure = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        default_permissions = ()
        constraints = [
            models.CheckConstraint(condition=models.Q(pk=1), name="marketplace_auditanchor_one")
        ]

    def __str__(self) -> str:
        return f"{self.number}"
