"""The guard on flows: digested answers of a turn, rules on its mode, and values an admin trusts."""

from django.conf import settings
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from acl.models import Space
from catalog.models import Capability
from discovery.models.call import Call
from discovery.models.turn import Turn


class FlowMode(models.TextChoices):
    """Consequence for a call that the guard asks about."""

    OFF = "off", gettext_lazy("Off")
    ADVISE = "advise", gettext_lazy("Advise")
    ASK = "ask", gettext_lazy("Ask a person")
    REFUSE = "refuse", gettext_lazy("Refuse")


class TurnReading(models.Model):
    """Digest of one answer, sealed with the turn's own key; deleted when the turn ends."""

    turn = models.ForeignKey(Turn, models.CASCADE, related_name="readings")
    call = models.OneToOneField(Call, models.CASCADE, null=True, blank=True, related_name="reading")
    sealed = models.BinaryField(editable=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"reading {self.pk} of {self.turn_id}"


class FlowRule(models.Model):
    """The guard's mode for a tool, a space or a group, or a combination of them."""

    capability = models.ForeignKey(
        Capability, models.CASCADE, null=True, blank=True, related_name="+"
    )
    space = models.ForeignKey(Space, models.CASCADE, null=True, blank=True, related_name="+")
    group = models.ForeignKey(Group, models.CASCADE, null=True, blank=True, related_name="+")
    mode = models.CharField(max_length=8, choices=FlowMode.choices)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["capability", "space", "group"],
                nulls_distinct=False,
                name="discovery_flow_rule_once",
            ),
            models.CheckConstraint(
                condition=Q(capability__isnull=False)
                | Q(space__isnull=False)
                | Q(group__isnull=False),
                name="discovery_flow_rule_somewhere",
            ),
            models.CheckConstraint(
                condition=Q(mode__in=["off", "advise", "ask", "refuse"]),
                name="discovery_flow_rule_mode",
            ),
        ]

    def __str__(self) -> str:
        places = [str(target) for target in (self.capability, self.space, self.group) if target]
        return f"{self.mode} for {', '.join(places)}"

    def clean(self) -> None:
        """Check for forms that the rule holds somewhere."""
        if not (self.capability_id or self.space_id or self.group_id):
            raise ValidationError(_("Choose a tool, a space or a group."))


class TrustedValue(models.Model):
    """A recipient, address, account or domain ("@example.org") that any text may choose."""

    value = models.CharField(max_length=300, unique=True)
    note = models.CharField(max_length=200, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["value", "pk"]

    def __str__(self) -> str:
        return self.value
