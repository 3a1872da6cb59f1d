"""Health history of servers."""

from django.contrib.auth.models import User
from django.db import models

from acl.platform.stored_json import StoredJSONField
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


# History of definition syncs.


class Sync(models.Model):
    """A sync of a server's definitions. Of equal ones in a row, only the last is kept."""

    class Cause(models.TextChoices):
        SCHEDULE = "schedule"
        ANNOUNCED = "announced", "the server said so"
        PERSON = "person", "asked for"
        CALL = "call", "before a call"

    integration = models.ForeignKey(Integration, models.CASCADE, related_name="syncs")
    cause = models.CharField(max_length=9, choices=Cause.choices)
    synced_at = models.DateTimeField(auto_now_add=True)
    new = StoredJSONField(default=list, blank=True)
    changed = StoredJSONField(default=list, blank=True)
    gone = StoredJSONField(default=list, blank=True)
    returned = StoredJSONField(default=list, blank=True)
    unreadable = models.PositiveIntegerField(default=0)
    reason = models.CharField(max_length=32, blank=True, help_text="Empty where it could be read.")

    class Meta:
        ordering = ["-synced_at", "-pk"]
        indexes = [models.Index(fields=["integration", "-id"], name="newest_syncs")]

    def __str__(self) -> str:
        return f"{self.integration} {self.reason or 'read'}"

    @property
    def found_something(self) -> bool:
        """Return True if any definition differed."""
        return bool(self.new or self.changed or self.gone or self.returned)


# Hosts of one's own network that admins allowed from a page.


class PrivateHost(models.Model):
    """A host and port of one's own network, open to Pegboard also without TLS."""

    host = models.CharField(max_length=253)
    port = models.PositiveIntegerField()
    by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["host", "port"]
        constraints = [
            models.UniqueConstraint(fields=["host", "port"], name="private_host_once"),
            models.CheckConstraint(
                condition=models.Q(port__range=(1, 65_535)), name="private_host_port"
            ),
        ]

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


# Hosts that a program tried to reach from its cell.


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
