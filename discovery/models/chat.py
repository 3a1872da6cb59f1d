"""Conversations with a model: messages, and the requests that each needs."""

import uuid

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from acl.platform.jobs.job_rows import JobRow
from acl.platform.stored_json import StoredJSONField
from acl.rights.caller import Caller
from discovery.models.chat_model import LONGEST_ID, ChatModel
from discovery.models.turn import Turn


class Chat(models.Model):
    """Conversation of a person, in one of their groups, with a model."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    group = models.ForeignKey(Group, models.CASCADE, related_name="+")
    model = models.ForeignKey(ChatModel, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-created_at", "pk"]

    def __str__(self) -> str:
        return str(self.pk)

    @property
    def caller(self) -> Caller:
        """Return the caller of its calls."""
        return Caller(self.user_id, self.group_id)


class ChatMessage(models.Model):
    """A message of the person's, what was offered for it, and how it ended."""

    class State(models.TextChoices):
        ASKING = "asking", _("asks the model")
        CALLING = "calling", _("calls tools")
        ANSWERED = "answered", _("answered")
        FAILED = "failed", _("failed")
        CANCELLED = "cancelled", _("cancelled")

    ACTIVE = (State.ASKING, State.CALLING)

    chat = models.ForeignKey(Chat, models.CASCADE, related_name="messages")
    turn = models.ForeignKey(Turn, models.SET_NULL, null=True, related_name="+")
    text = models.TextField()
    prompt = models.TextField(blank=True, help_text="Sent beside the tools.")
    tools = StoredJSONField(default=list, help_text="As the provider takes them.")
    names = StoredJSONField(default=dict, help_text="Full names and arguments, by offered names.")
    state = models.CharField(max_length=9, choices=State.choices, default=State.ASKING)
    reason = models.CharField(max_length=32, blank=True, help_text="Why it failed, for machines.")
    created_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["chat"],
                condition=Q(state__in=["asking", "calling"]),
                name="discovery_chatmessage_one_at_a_time",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["asking", "calling"], ended_at__isnull=True)
                | Q(state__in=["answered", "failed", "cancelled"], ended_at__isnull=False),
                name="discovery_chatmessage_end",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pk} {self.state}"


class ModelRequest(JobRow):
    """A request to a model: a step towards the answer, or the same message with all tools.

    `body` is what is sent; it is cleared at the end. The worker that goes out sends it.
    """

    class Purpose(models.TextChoices):
        ANSWER = "answer", "towards the answer"
        COMPARISON = "comparison", "with all tools, to compare"

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        ANSWERED = "answered"
        FAILED = "failed"

    UNDER_WAY = (State.QUEUED, State.RUNNING)

    message = models.ForeignKey(ChatMessage, models.CASCADE, related_name="requests")
    purpose = models.CharField(max_length=10, choices=Purpose.choices)
    step = models.PositiveSmallIntegerField(default=1)
    model_id = models.CharField(max_length=LONGEST_ID, help_text="For its price.")
    state = models.CharField(max_length=8, choices=State.choices, default=State.QUEUED)
    body = models.TextField(blank=True)
    tools = models.PositiveIntegerField(default=0, help_text="Definitions sent.")
    tools_tokens = models.PositiveIntegerField(default=0, help_text="Theirs, estimated.")
    content = StoredJSONField(
        null=True, blank=True, default=dict, help_text="The answer, to be sent back unchanged."
    )
    text = models.TextField(blank=True, help_text="Of the answer.")
    calls = StoredJSONField(default=list, help_text="Calls that the model asks for.")
    tokens_read = models.PositiveIntegerField(default=0)
    tokens_written = models.PositiveIntegerField(default=0)
    reason = models.CharField(max_length=32, blank=True, help_text="Why it failed, for machines.")
    detail = models.CharField(max_length=300, blank=True, help_text="The provider's own words.")
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        indexes = [
            models.Index(
                fields=["sent_at"],
                condition=Q(state__in=["queued", "running"]),
                name="discovery_modelrequest_due",
            )
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["message", "purpose", "step"], name="discovery_modelrequest_once"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running"], ended_at__isnull=True)
                | Q(state__in=["answered", "failed"], ended_at__isnull=False),
                name="discovery_modelrequest_end",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} {self.step} {self.state}"
