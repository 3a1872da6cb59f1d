"""What somebody's first steps leave nowhere else."""

from django.conf import settings
from django.db import models


class FirstRun(models.Model):
    """That somebody has tried a message, which stores no turn; and that they want the list of first
    steps out of their way."""

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
