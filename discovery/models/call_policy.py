"""Policies of groups on what they keep of their calls, and for how long."""

from django.contrib.auth.models import Group
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from discovery.models.call import Content

LONGEST_DAYS = 3650


class CallPolicy(models.Model):
    """The policy of a group. A group without one keeps everything as long as the deployment."""

    group = models.OneToOneField(
        Group, models.CASCADE, primary_key=True, related_name="call_policy"
    )
    content = models.PositiveSmallIntegerField(choices=Content.choices, default=Content.KEPT)
    days = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(LONGEST_DAYS)],
        help_text="Days that finished calls are kept, within what the deployment allows.",
    )

    class Meta:
        verbose_name_plural = "call policies"
        ordering = ["group"]
        constraints = [
            models.CheckConstraint(
                condition=Q(content__in=Content.values), name="discovery_call_policy_content"
            ),
            models.CheckConstraint(
                condition=Q(days__isnull=True) | Q(days__gte=1, days__lte=LONGEST_DAYS),
                name="discovery_call_policy_days",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_content_display()} in {self.group}"
