"""The last recorded anchor of the audit log."""

from django.db import models


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
