"""Conversations with a model: messages, and the requests that each needs."""

import uuid
from datetime import UTC, date
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from acl.platform.database_work import database_now
from acl.platform.jobs import JobRow
from acl.platform.stored_json import StoredJSONField
from acl.rights.caller_lookup import Caller
from catalog.formats.secret_redaction import word_address
from catalog.models import Integration
from discovery.models.turn import Turn

# Chat models that admins connect, and the tokens that people used of each on a day.

LONGEST_NAME = 80
LONGEST_ID = 120
LONGEST_ADDRESS = 300


class ChatModelQuerySet(models.QuerySet["ChatModel"]):
    """Queries of chat models, by who may use them."""

    def usable_by(self, person: User) -> "QuerySet[ChatModel]":
        """Return those that the person may use: admins all, others those of their groups."""
        if not person.is_active:
            return self.none()
        if person.is_staff:
            return self.all()
        mine = Group.objects.filter(user=person).values("pk")
        return self.filter(pk__in=self.filter(groups__in=mine).values("pk"))


class ChatModel(models.Model):
    """A model at a provider's address, with its sealed key. Without groups it is for admins."""

    name = models.CharField(max_length=LONGEST_NAME, unique=True)
    provider = models.CharField(max_length=20, help_text="A module of `chats/providers`.")
    address = models.CharField(max_length=LONGEST_ADDRESS)
    model_id = models.CharField(max_length=LONGEST_ID, help_text="Its name at the provider.")
    sealed_key = models.BinaryField(default=b"", help_text="Empty for a server without keys.")
    groups = models.ManyToManyField(Group, blank=True, related_name="+")
    daily_tokens = models.PositiveBigIntegerField(
        default=200_000, help_text="Tokens that a person may read and write with it on a day."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ChatModelQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=Q(provider="compatible") | ~Q(sealed_key=b""),
                name="discovery_chatmodel_has_key",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def group_names(self) -> list[str]:
        """Return the names of its groups. Needs its related rows."""
        return sorted(group.name for group in self.groups.all())

    @property
    def worded_address(self) -> str:
        """Return the address as anybody may read it."""
        return word_address(self.address)

    @property
    def key_purpose(self) -> str:
        """Return the purpose sealed along with the key."""
        return f"chat-model/{self.pk}/key"


class ChatUse(models.Model):
    """Tokens of a person with a model on a day in UTC. It outlives deleted conversations."""

    erased: ClassVar[dict[str, dict[str, Any]]] = {"user": {}}

    model = models.ForeignKey(ChatModel, models.CASCADE, related_name="uses")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    day = models.DateField()
    tokens = models.PositiveBigIntegerField(default=0)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["model", "user", "day"], name="discovery_chatuse_once")
        ]

    def __str__(self) -> str:
        return f"{self.tokens} on {self.day}"


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


# Questions for example requests of tools.


class ExampleRun(JobRow):
    """A chat model's example requests for tools of an integration, which await an admin.

    The worker that goes out asks about one tool after the other; then it is measured how much
    each tool's requests help to find it.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        MEASURING = "measuring"
        ENDED = "ended"
        FAILED = "failed"

    UNDER_WAY = (State.QUEUED, State.RUNNING, State.MEASURING)

    integration = models.OneToOneField(Integration, models.CASCADE, related_name="+")
    model = models.ForeignKey(ChatModel, models.SET_NULL, null=True, related_name="+")
    origin = models.CharField(max_length=LONGEST_NAME, help_text="The model's name.")
    state = models.CharField(max_length=9, choices=State.choices, default=State.QUEUED)
    tools = StoredJSONField(default=list, help_text="Keys of capabilities yet to be asked about.")
    total = models.PositiveIntegerField(help_text="Tools to ask about, in all.")
    proposals = StoredJSONField(
        default=dict, help_text="By capability: texts, and how many find it before and after."
    )
    tokens = models.PositiveBigIntegerField(default=0, help_text="Read and written.")
    reason = models.CharField(max_length=32, blank=True, help_text="Why it failed, for machines.")
    detail = models.CharField(max_length=300, blank=True, help_text="The provider's own words.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.origin} about {self.total}: {self.state}"


# Prices of models, as an admin has noted them.

LONGEST_PATTERN = 100


class ModelPrice(models.Model):
    """A price in US dollars per million tokens; it replaces the shipped one of its pattern.

    The pattern is a model's name, or its beginning followed by `*`.
    """

    pattern = models.CharField(max_length=LONGEST_PATTERN, unique=True)
    input_price = models.DecimalField(
        max_digits=10, decimal_places=4, validators=[MinValueValidator(0)]
    )
    output_price = models.DecimalField(
        max_digits=10, decimal_places=4, validators=[MinValueValidator(0)]
    )
    noted_on = models.DateField()
    source = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["pattern"]
        constraints = [
            models.CheckConstraint(
                condition=Q(input_price__gte=0, output_price__gte=0),
                name="discovery_model_price_range",
            ),
            models.CheckConstraint(condition=~Q(pattern=""), name="discovery_model_price_named"),
        ]

    def __str__(self) -> str:
        return self.pattern


# Policies of advice on choosing tools: the chat model, the group, and the cost.


def utc_day() -> date:
    """Return the database's day in UTC."""
    return database_now().astimezone(UTC).date()


SHORTEST, LONGEST = 100, 10_000  # milliseconds


class AdvicePolicy(models.Model):
    """Advice that a group's selections take; without a group, of all that have no own one."""

    group = models.ForeignKey(Group, models.CASCADE, null=True, blank=True, related_name="+")
    model = models.ForeignKey(ChatModel, models.CASCADE, related_name="+")
    plans = models.BooleanField(default=True, help_text="It names the steps of a message.")
    orders = models.BooleanField(default=True, help_text="It puts the first tools in order.")
    milliseconds = models.PositiveIntegerField(
        default=2_000,
        validators=[MinValueValidator(SHORTEST), MaxValueValidator(LONGEST)],
        help_text="A selection waits so long for all advice, and then goes without.",
    )
    daily_tokens = models.PositiveBigIntegerField(
        default=500_000, help_text="Tokens that all its advice may read and write on a day in UTC."
    )
    used_on = models.DateField(null=True, blank=True, editable=False)
    used_tokens = models.PositiveBigIntegerField(default=0, editable=False)

    class Meta:
        verbose_name_plural = "advice policies"
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["group"], nulls_distinct=False, name="discovery_advice_once"
            ),
            models.CheckConstraint(
                condition=models.Q(milliseconds__gte=SHORTEST, milliseconds__lte=LONGEST),
                name="discovery_advice_milliseconds",
            ),
            models.CheckConstraint(
                condition=models.Q(plans=True) | models.Q(orders=True),
                name="discovery_advice_of_something",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.model} for {self.group or 'everyone'}"

    @property
    def used_today(self) -> int:
        """Return the tokens that its advice has used since 00:00 UTC."""
        return self.used_tokens if self.used_on == utc_day() else 0
