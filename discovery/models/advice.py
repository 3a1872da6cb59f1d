"""Policies of advice on choosing tools: the chat model, the group, and the cost."""

from datetime import UTC, date

from django.contrib.auth.models import Group
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from acl.platform.clock import database_now
from discovery.models.chat import ChatModel


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
