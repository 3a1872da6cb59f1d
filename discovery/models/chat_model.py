"""Chat models that admins connect, and the tokens that people used of each on a day."""

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import models
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

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

    class Provider(models.TextChoices):
        ANTHROPIC = "anthropic", "Anthropic"
        OPENAI = "openai", "OpenAI"
        GEMINI = "gemini", "Gemini"
        COMPATIBLE = "compatible", _("OpenAI-compatible (Ollama, vLLM)")

    name = models.CharField(max_length=LONGEST_NAME, unique=True)
    provider = models.CharField(max_length=10, choices=Provider.choices)
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
                condition=Q(provider__in=["anthropic", "openai", "gemini", "compatible"]),
                name="discovery_chatmodel_provider",
            ),
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
    def key_purpose(self) -> str:
        """Return the purpose sealed along with the key."""
        return f"chat-model/{self.pk}/key"


class ChatUse(models.Model):
    """Tokens of a person with a model on a day in UTC. It outlives deleted conversations."""

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
