"""Policies of groups on what they keep of their calls, and for how long."""

from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import Group
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy

from acl.platform.migration_operations import DatabaseTrigger, Triggers
from catalog.models import Capability, Integration
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


# Quotas: how many calls, or tokens of calls, a day has for a person, a group or a tool.


class Quota(models.Model):
    """Limit on calls of a user, in a group or of a tool, or of several of these together.

    With `each_person` it holds for each user separately. Days are days in UTC.
    """

    class Measure(models.TextChoices):
        CALLS = "calls", gettext_lazy("Calls")
        TOKENS = "tokens", gettext_lazy("Tokens")

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="+"
    )
    group = models.ForeignKey(Group, models.CASCADE, null=True, blank=True, related_name="+")
    capability = models.ForeignKey(
        Capability, models.CASCADE, null=True, blank=True, related_name="+"
    )
    each_person = models.BooleanField(default=False)
    measure = models.CharField(max_length=8, choices=Measure.choices)
    soft = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="From here on answers carry a notice."
    )
    hard = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="Here calls are refused until the day ends."
    )
    former_names = ArrayField(
        models.CharField(max_length=64),
        default=list,
        db_default=[],
        blank=True,
        editable=False,
        help_text="Full names that the tool had before: its calls under these count, too.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    triggers: ClassVar[Triggers] = (
        # Gives quotas and flow rules back that outlived a tool (`0021_kept_policies`).
        DatabaseTrigger(
            "discovery_capability_limits",
            "AFTER INSERT",
            "ROW",
            "discovery_return_limits",
            table="catalog_capability",
        ),
    )

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "group", "capability", "each_person", "measure"],
                nulls_distinct=False,
                name="discovery_quota_once",
            ),
            models.CheckConstraint(
                condition=Q(measure__in=["calls", "tokens"]), name="discovery_quota_measure"
            ),
            models.CheckConstraint(
                condition=Q(soft__isnull=False) | Q(hard__isnull=False),
                name="discovery_quota_limits",
            ),
            models.CheckConstraint(
                condition=Q(soft__isnull=True) | Q(hard__isnull=True) | Q(soft__lte=F("hard")),
                name="discovery_quota_order",
            ),
            models.CheckConstraint(
                condition=Q(each_person=False) | Q(user__isnull=True),
                name="discovery_quota_person",
            ),
        ]

    def __str__(self) -> str:
        return self.text

    @property
    def text(self) -> str:
        """Return the quota in words, for whoever reaches it. Needs its related rows."""
        limit = self.hard if self.hard is not None else self.soft
        whose = " for each person" if self.each_person else ""
        whose = f" for {self.user.username}" if self.user else whose
        where = f" in {self.group.name}" if self.group else ""
        what = f" of {self.capability.full_name}" if self.capability else ""
        return f"{limit:,} {self.measure} a day{what}{whose}{where}"

    @property
    def notice_at(self) -> int:
        """Return from where on there is a notice: the soft limit, or four fifths of the hard."""
        return self.soft if self.soft is not None else (self.hard or 0) * 4 // 5


class CallLimit(models.Model):
    """Limit on the calls of an integration's tools in any minute, of all callers together."""

    integration = models.OneToOneField(
        Integration, models.CASCADE, primary_key=True, related_name="+"
    )
    a_minute = models.PositiveIntegerField(validators=[MinValueValidator(1)])

    triggers: ClassVar[Triggers] = (
        # Gives a limit back that outlived an integration of this slug (`0027_kept_call_limits`).
        DatabaseTrigger(
            "discovery_integration_limits",
            "AFTER INSERT",
            "ROW",
            "discovery_return_call_limit",
            table="catalog_integration",
        ),
    )

    def __str__(self) -> str:
        return f"{self.a_minute:,} a minute at {self.integration_id}"


# Examples of arguments that admins saved for a tool.


class ToolExample(models.Model):
    """Arguments to try a tool with, for everyone who may use it."""

    capability = models.ForeignKey(Capability, models.CASCADE, related_name="+")
    title = models.CharField(max_length=80)
    arguments_json = models.TextField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["title", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["capability", "title"], name="discovery_tool_example_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.title} ({self.capability})"
