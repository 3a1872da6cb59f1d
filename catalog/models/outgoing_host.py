"""Hosts that a program tried to reach from its cell."""

from django.db import models


class OutgoingHost(models.Model):
    """Attempts of a program to reach one host and port, with the outcome of the last."""

    integration = models.ForeignKey(
        "catalog.Integration", on_delete=models.CASCADE, related_name="outgoing_hosts"
    )
    host = models.CharField(max_length=260, help_text="As a rule: a name, and a port but 443.")
    allowed = models.BooleanField()
    times = models.PositiveBigIntegerField(default=0)
    last_at = models.DateTimeField()

    class Meta:
        ordering = ["-last_at", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["integration", "host"], name="outgoing_host_once")
        ]

    def __str__(self) -> str:
        return self.host
