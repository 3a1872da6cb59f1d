"""Grants and rules on integrations and single capabilities."""

from django.db import models
from django.db.models import Q

from acl.models import GroupGrantBase, RuleBase, UserGrantBase
from catalog.models.capability import Capability
from catalog.models.integration import Integration


class IntegrationUserPermission(UserGrantBase):
    content_object = models.ForeignKey(Integration, models.CASCADE)

    class Meta(UserGrantBase.Meta):
        abstract = False


class IntegrationGroupPermission(GroupGrantBase):
    content_object = models.ForeignKey(Integration, models.CASCADE)

    class Meta(GroupGrantBase.Meta):
        abstract = False


class CapabilityUserPermission(UserGrantBase):
    content_object = models.ForeignKey(Capability, models.CASCADE)

    class Meta(UserGrantBase.Meta):
        abstract = False


class CapabilityGroupPermission(GroupGrantBase):
    content_object = models.ForeignKey(Capability, models.CASCADE)

    class Meta(GroupGrantBase.Meta):
        abstract = False


class Rule(RuleBase):
    """A rule in a space (allow, deny or propose) about an integration or a capability."""

    integration = models.ForeignKey(
        Integration, models.CASCADE, null=True, blank=True, related_name="rules"
    )
    capability = models.ForeignKey(
        Capability, models.CASCADE, null=True, blank=True, related_name="rules"
    )

    class Meta(RuleBase.Meta):
        abstract = False
        constraints = [
            *RuleBase.Meta.constraints,
            models.CheckConstraint(
                condition=Q(integration__isnull=True) ^ Q(capability__isnull=True),
                name="catalog_rule_one_target",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_effect_display()} {self.integration or self.capability} in {self.space}"
