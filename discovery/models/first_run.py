"""Progress of the first steps that no other row shows."""

from django.conf import settings
from django.db import models


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
