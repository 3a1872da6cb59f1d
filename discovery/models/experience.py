"""A group's experience with capabilities for messages."""

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from pgvector.django import HalfVectorField, VectorField

from catalog.models import Capability, EmbeddingModel
from discovery.models.taught_message import TaughtMessage


class Experience(models.Model):
    """A capability called in a turn, with the vector of the turn's message, but not its words.

    Vectors of different models are never compared. An experience is deleted with whatever it refers
    to, except the turn, which may be gone. Taught ones have the id of their message as their turn.
    """

    group = models.ForeignKey(Group, models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    capability = models.ForeignKey(Capability, models.CASCADE, related_name="+")
    model = models.ForeignKey(EmbeddingModel, models.CASCADE, related_name="+")
    turn = models.UUIDField(help_text="Which experiences are of one message.")
    vector = HalfVectorField()  # no fixed length: models with different dimensions share the table
    taught = models.ForeignKey(
        TaughtMessage,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="experiences",
        help_text="Where an admin taught it. It does not expire, and goes with its message.",
    )
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
