"""Channels of notifications, and what is delivered through them."""

import uuid
from typing import ClassVar

from django.contrib.auth.models import Group, User
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from acl.platform.stored_json import StoredJSONField


class NotificationChannel(models.Model):
    """Channel that is told about events: a person's own, or one that admins keep for a group.

    Without owner and group it is told about all groups. The address of a webhook lets whoever has
    it post there, so it is sealed like any secret.
    """

    class Topic(models.TextChoices):
        APPROVALS = "approvals", _("Calls that wait for approval")
        REQUESTS = "requests", _("Access requests")
        FAILURES = "failures", _("Failing integrations")
        ALERTS = "alerts", _("Alerts")
        REVIEWS = "reviews", _("Definitions to review")
        ANSWERS = "answers", _("Answers to your requests and calls")

    owner = models.ForeignKey(User, models.CASCADE, null=True, blank=True, related_name="+")
    group = models.ForeignKey(Group, models.CASCADE, null=True, blank=True, related_name="+")
    kind = models.CharField(max_length=20, help_text="A module of `notifications/kinds`.")
    topics = ArrayField(models.CharField(max_length=9, choices=Topic.choices))
    mail_to = models.EmailField(blank=True, help_text="Of an admins' channel; else the owner's.")
    host = models.CharField(max_length=253, blank=True, help_text="Of the address, for display.")
    sealed_address = models.BinaryField(default=b"")
    sealed_secret = models.BinaryField(default=b"", help_text="It signs webhooks.")
    origin = models.CharField(max_length=300, help_text="Where links in messages lead.")
    with_arguments = models.BooleanField(default=False)
    paused = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(owner=None) | Q(group=None, with_arguments=False, mail_to=""),
                name="notification_channel_of_one",
            ),
            models.CheckConstraint(
                condition=Q(kind="mail") | ~Q(sealed_address=b""),
                name="notification_channel_has_address",
            ),
        ]

    def __str__(self) -> str:
        whose = self.owner or self.group or "everyone"
        return f"{self.kind} {self.host or self.mail_to} of {whose}".replace("  ", " ")

    @property
    def address_purpose(self) -> str:
        """Return the purpose sealed along with the address."""
        return f"channel/{self.pk}/address"

    @property
    def secret_purpose(self) -> str:
        """Return the purpose sealed along with the signing secret."""
        return f"channel/{self.pk}/secret"

    @property
    def topic_labels(self) -> list[str]:
        """Return the labels of the topics, in their order."""
        return [str(topic.label) for topic in self.Topic if topic.value in self.topics]


class NotificationDelivery(models.Model):
    """An event for a channel: the promise to deliver it, and the log of what became of it.

    The content never has values of arguments: they are read when it is sent, where a channel
    has them at all.
    """

    names_people: ClassVar = ("content", "message")

    class State(models.TextChoices):
        PENDING = "pending", _("pending")
        DELIVERED = "delivered", _("delivered")
        FAILED = "failed", _("failed")
        DROPPED = "dropped", _("dropped")

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    channel = models.ForeignKey(NotificationChannel, models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=160, help_text="What happened; each is told once.")
    topic = models.CharField(max_length=9)
    content = StoredJSONField(default=dict)
    state = models.CharField(max_length=9, choices=State.choices, default=State.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField(db_default=Now())
    status = models.PositiveSmallIntegerField(null=True, help_text="Of the last answer.")
    message = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        verbose_name_plural = "notification deliveries"
        constraints = [
            models.UniqueConstraint(fields=["channel", "event"], name="notification_told_once"),
            models.CheckConstraint(
                condition=Q(state="pending", ended_at=None)
                | (~Q(state="pending") & Q(ended_at__isnull=False)),
                name="notification_ended",
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], condition=Q(state="pending"), name="notification_due")
        ]

    def __str__(self) -> str:
        return f"{self.event} for {self.channel_id}"
