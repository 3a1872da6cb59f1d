"""Examples of arguments that admins saved for a tool."""

from django.conf import settings
from django.db import models

from catalog.models import Capability


class ToolExample(models.Model):
    """Arguments to try a tool with, for everyone who may use it."""

    capability = models.ForeignKey(Capability, models.CASCADE, related_name="+")
    title = models.CharField(max_length=80)
    arguments_json = models.TextField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["title", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["capability", "title"], name="discovery_tool_example_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.title} ({self.capability})"
