"""History of definition syncs."""

from django.db import models

from acl.platform.stored_json import StoredJSONField
from catalog.models.integration import Integration


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
