"""Grants and rules on integrations and single capabilities."""

from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from acl.models import GroupGrantBase, RightsChange, RuleBase, Space, UserGrantBase
from acl.models.rights_change import counted_rows, kept_periods
from acl.platform.migration_operations import Triggers
from acl.platform.stored_json import StoredJSONField
from catalog.models.capability import Capability
from catalog.models.integration import Integration

_PERSON, _GROUP = RightsChange.Concern.PERSON, RightsChange.Concern.GROUP
_RULE_FACTS = ("space_id", "effect", "user_id", "group_id", "integration_id", "capability_id")
# A space that went with its rules was counted by itself.
_GROUP_OF_SPACE = "(SELECT s.group_id FROM acl_space s WHERE s.id = r.space_id)"


def _grant_triggers(table: str, subject: RightsChange.Concern, column: str) -> Triggers:
    return (
        *counted_rows(table, subject, f"r.{column}"),
        *kept_periods(table, ["permission_id", column, "content_object_id"]),
    )


class IntegrationUserPermission(UserGrantBase):
    triggers: ClassVar[Triggers] = _grant_triggers(
        "catalog_integrationuserpermission", _PERSON, "user_id"
    )

    content_object = models.ForeignKey(Integration, models.CASCADE)

    class Meta(UserGrantBase.Meta):
        abstract = False


class IntegrationGroupPermission(GroupGrantBase):
    triggers: ClassVar[Triggers] = _grant_triggers(
        "catalog_integrationgrouppermission", _GROUP, "group_id"
    )

    content_object = models.ForeignKey(Integration, models.CASCADE)

    class Meta(GroupGrantBase.Meta):
        abstract = False


class CapabilityUserPermission(UserGrantBase):
    triggers: ClassVar[Triggers] = _grant_triggers(
        "catalog_capabilityuserpermission", _PERSON, "user_id"
    )

    content_object = models.ForeignKey(Capability, models.CASCADE)

    class Meta(UserGrantBase.Meta):
        abstract = False


class CapabilityGroupPermission(GroupGrantBase):
    triggers: ClassVar[Triggers] = _grant_triggers(
        "catalog_capabilitygrouppermission", _GROUP, "group_id"
    )

    content_object = models.ForeignKey(Capability, models.CASCADE)

    class Meta(GroupGrantBase.Meta):
        abstract = False


class Rule(RuleBase):
    """A rule in a space (allow, deny or propose) about an integration or a capability."""

    triggers: ClassVar[Triggers] = (
        *counted_rows("catalog_rule", _GROUP, _GROUP_OF_SPACE),
        *kept_periods("catalog_rule", _RULE_FACTS),
    )

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


# Limits that outlive what they name: they wait until a thing of that name is there again.


class KeptLimit(models.Model):
    """Limit of an integration or a tool that is gone: a rule that denies or asks, or another.

    A rule without a space is a limit of the thing itself: its access for AI, or that it is
    restricted. The database gives all back with the row of that name, whoever inserts it
    (`0048_kept_call_limits`, and discovery's `0027_kept_call_limits`).
    """

    integration = models.CharField(max_length=200, help_text="The slug of what is gone.")
    action = models.CharField(max_length=200, blank=True, help_text="Empty for the integration.")
    full_name = models.CharField(max_length=64, blank=True)
    definition = models.TextField(blank=True, help_text="The tool's texts, to know it again by.")
    effect = models.SmallIntegerField(
        choices=[
            (effect.value, effect.label) for effect in (Rule.Effect.DENY, Rule.Effect.PROPOSE)
        ],
        null=True,
        help_text="Of a rule; other limits have none.",
    )
    kind = models.CharField(
        max_length=12,
        blank=True,
        default="",
        db_default="",
        choices=[
            ("quotas", gettext_lazy("quota")),
            ("flow_rules", gettext_lazy("flow rule")),
            ("call_limits", gettext_lazy("limit of calls")),
        ],
        help_text="Empty for a rule and for a tool's or integration's own setting.",
    )
    terms = StoredJSONField(
        default=dict, db_default={}, help_text="The other columns of a limit that is no rule."
    )
    space = models.ForeignKey(Space, models.CASCADE, null=True, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+")
    group = models.ForeignKey(Group, models.CASCADE, null=True, related_name="+")
    created_at = models.DateTimeField(help_text="When the rule was made.")
    kept_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["integration", "action", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=[
                    *("integration", "action", "effect", "space", "user", "group"),
                    *("kind", "terms"),
                ],
                nulls_distinct=False,
                name="catalog_kept_limit_once",
            ),
            models.CheckConstraint(
                condition=Q(user__isnull=True) | Q(group__isnull=True) | ~Q(kind=""),
                name="catalog_kept_limit_one_subject",
            ),
            models.CheckConstraint(
                condition=Q(kind="", effect__isnull=False, effect__in=[0, 1])
                | Q(kind__in=["quotas", "flow_rules", "call_limits"], effect__isnull=True),
                name="catalog_kept_limit_effect",
            ),
        ]

    def __str__(self) -> str:
        where = f" in {self.space}" if self.space else ""
        return f"{self.name} {self.target}{where}"

    @property
    def name(self) -> str:
        """Return what it is: the rule's effect, or the kind of another limit."""
        return self.kind or str(self.get_effect_display())

    @property
    def target(self) -> str:
        """Return the name of what is gone."""
        return self.full_name if self.action else self.integration
