"""Requests for access."""

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q


class AccessRequest(models.Model):
    """A request for a missing tool. It names no capability: the person cannot see hidden ones."""

    class State(models.TextChoices):
        OPEN = "open"
        GRANTED = "granted"
        DECLINED = "declined"

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="access_requests"
    )
    group = models.ForeignKey(Group, models.CASCADE, related_name="access_requests")
    wish = models.CharField(max_length=500)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    note = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    answered_at = models.DateTimeField(null=True, blank=True)
    answered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state="open", answered_at=None, answered_by=None)
                | (~Q(state="open") & Q(answered_at__isnull=False)),
                name="acl_accessrequest_answered",
            )
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.wish[:60]}"
