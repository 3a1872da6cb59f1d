"""What was asked and what was answered."""

import uuid

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models

from acl.models import Space


class Turn(models.Model):
    """One selection. The message's words are kept only where the deployment says so."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    group = models.ForeignKey(Group, models.CASCADE, related_name="+")
    space = models.ForeignKey(Space, models.SET_NULL, null=True, blank=True, related_name="+")
    message = models.TextField(blank=True)
    selected = models.JSONField(default=list, help_text="Ids and scores, best first.")
    tokens_all = models.PositiveIntegerField(default=0)
    tokens_selected = models.PositiveIntegerField(default=0)
    degraded = models.JSONField(default=list, help_text="What the answer did without.")
    milliseconds = models.FloatField(default=0)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        ordering = ["-created_at", "pk"]

    def __str__(self) -> str:
        return str(self.id)
