"""Capabilities that hosts and agents make at runtime."""

from typing import ClassVar, Self

from django.contrib.auth.models import Group, User
from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Now

from acl.models import ApiKey
from catalog.models.integration import Integration


class RuntimeCapabilityQuerySet(models.QuerySet["RuntimeCapability"]):
    """Queries for runtime capabilities."""

    def with_status(self) -> Self:
        """Annotate `status`: the state, or `expired` where the time was over before anything else
        ended it, whether a sweep has come or not."""
        retired = Q(state="retired")
        over = (~retired & Q(expires_at__lte=Now())) | (
            retired & Q(expires_at__lte=F("changed_at"))
        )
        return self.annotate(status=Case(When(over, then=Value("expired")), default=F("state")))


class RuntimeCapability(models.Model):
    """The life cycle of a capability made by API; the definition itself is in `Capability`.

    A definition that is held for review has no `Capability` yet, so the name links the two.
    """

    class State(models.TextChoices):
        PROPOSED = "proposed"
        TRIED = "tried"
        APPROVED = "approved"
        PROMOTED = "promoted"
        RETIRED = "retired"

    # Why the capability is not available.
    EXPIRED: ClassVar[str] = "It has expired."

    integration = models.ForeignKey(Integration, models.CASCADE, related_name="+")
    name = models.CharField(max_length=200, help_text="The action of the capability.")
    full_name = models.CharField(max_length=64, unique=True)
    group = models.ForeignKey(
        Group, models.CASCADE, related_name="+", help_text="The proposing group."
    )
    owner = models.ForeignKey(
        User, models.SET_NULL, null=True, related_name="+", help_text="Only they can change it."
    )
    key = models.ForeignKey(
        ApiKey, models.SET_NULL, null=True, related_name="+", help_text="The key it was made with."
    )
    state = models.CharField(max_length=8, choices=State.choices, default=State.PROPOSED)
    withdrawn = models.BooleanField(
        default=False, help_text="An admin retired it: its name is not given out again."
    )
    expires_at = models.DateTimeField(null=True, help_text="Empty once promoted.")
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    objects = RuntimeCapabilityQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "runtime capabilities"
        ordering = ["full_name"]
        constraints = [
            models.UniqueConstraint(fields=["integration", "name"], name="one_life_each"),
            models.CheckConstraint(
                condition=~Q(withdrawn=True) | Q(state="retired"), name="withdrawn_is_retired"
            ),
            models.CheckConstraint(
                condition=Q(state__in=("promoted", "retired")) | Q(expires_at__isnull=False),
                name="unpromoted_expires",
            ),
        ]
        indexes = [
            models.Index(
                fields=["expires_at"], condition=~Q(state="retired"), name="catalog_runtime_ends"
            )
        ]

    def __str__(self) -> str:
        return self.full_name
