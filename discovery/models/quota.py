"""Quotas: how many calls, or tokens of calls, a day has for a person, a group or a tool."""

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy

from catalog.models import Capability


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
    created_at = models.DateTimeField(auto_now_add=True)

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
