"""Health history of servers."""

from django.db import models

from catalog.models.integration import Integration


class HealthCheck(models.Model):
    """A check of a server, or a failed call. Only the newest of each integration are kept."""

    integration = models.ForeignKey(Integration, models.CASCADE, related_name="checks")
    checked_at = models.DateTimeField(auto_now_add=True)
    reason = models.CharField(max_length=24, blank=True, help_text="Empty where all was well.")
    last_words = models.TextField(blank=True, help_text="What the server said last, cleaned.")
    milliseconds = models.PositiveIntegerField(null=True, blank=True)
    tools = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["-checked_at", "-pk"]
        indexes = [models.Index(fields=["integration", "-id"], name="newest_checks")]

    def __str__(self) -> str:
        return self.reason or "well"
