"""What a group has learned from: which capability a message led to, and how that went."""

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from pgvector.django import HalfVectorField, VectorField

from catalog.models import Capability, EmbeddingModel


class Experience(models.Model):
    """A capability that was called in a turn, with the vector of the turn's message, not its words.

    Vectors are compared with those of their own model only. Whatever an experience refers to takes
    it along when it is deleted; the turn itself may be gone.
    """

    group = models.ForeignKey(Group, models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    capability = models.ForeignKey(Capability, models.CASCADE, related_name="+")
    model = models.ForeignKey(EmbeddingModel, models.CASCADE, related_name="+")
    turn = models.UUIDField(help_text="Which experiences are of one message.")
    vector = HalfVectorField()  # no fixed length: models of several lengths live side by side
    worth = models.FloatField(help_text="From -0.5, it failed, to 1, it went well.")
    gains = VectorField(
        dimensions=5, help_text="What the votes before it would have gained, by level."
    )
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["group", "model", "-id"], name="discovery_experience_newest"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["turn", "capability"], name="discovery_experience_once"
            ),
            models.CheckConstraint(
                condition=Q(worth__gte=-0.5, worth__lte=1), name="discovery_experience_worth"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.capability_id} in {self.turn}"
