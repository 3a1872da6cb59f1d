"""Messages with their right tools, as admins taught them."""

import uuid

from django.conf import settings
from django.contrib.auth.models import Group
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import MD5
from pgvector.django import HalfVectorField, VectorField

from catalog.models import Capability, EmbeddingModel

LONGEST_MESSAGE = 600


class TaughtMessage(models.Model):
    """A message proposed to a group's admin, with the tools that they confirmed for it.

    Confirmed ones are learned as experiences whose turn is this row's id. `places_before` and
    `places_after` are the places of its tools without and with the group's other taught messages;
    0 stands for a place beyond those that are ranked.
    """

    class State(models.TextChoices):
        PROPOSED = "proposed"
        CONFIRMED = "confirmed"
        DROPPED = "dropped"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    group = models.ForeignKey(Group, models.CASCADE, related_name="+")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        related_name="+",
        help_text="Whose proposal it is, and whose rights decide which tools can be taught.",
    )
    message = models.CharField(max_length=LONGEST_MESSAGE)
    state = models.CharField(max_length=9, choices=State.choices, default=State.PROPOSED)
    source = models.ForeignKey(
        Capability,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The tool whose words it was proposed from.",
    )
    tools = models.ManyToManyField(Capability, related_name="+", blank=True)
    learned_by = models.ForeignKey(
        EmbeddingModel,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The model of its experiences; empty until it is learned.",
    )
    places_before = ArrayField(models.PositiveSmallIntegerField(), default=list, blank=True)
    places_after = ArrayField(models.PositiveSmallIntegerField(), default=list, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "pk"]
        indexes = [
            models.Index(fields=["group", "state", "-created_at"], name="discovery_taught_of_group")
        ]
        constraints = [
            models.UniqueConstraint(
                "group", "user", MD5("message"), name="discovery_taught_message_once"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["proposed", "confirmed", "dropped"]),
                name="discovery_taught_message_state",
            ),
            models.CheckConstraint(
                condition=Q(state="proposed", decided_at__isnull=True)
                | (~Q(state="proposed") & Q(decided_at__isnull=False)),
                name="discovery_taught_message_decided",
            ),
        ]

    def __str__(self) -> str:
        return self.message[:60]


# A group's experience with capabilities for messages.


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
