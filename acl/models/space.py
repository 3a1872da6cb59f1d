"""Places of work inside a group, the group's default, and the bases of grants and rules."""

from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from guardian.models import GroupObjectPermissionBase, UserObjectPermissionBase

from acl.platform.migration_operations import DatabaseTrigger, Triggers

# Places of work inside a group, and the group's default.


class GroupPolicy(models.Model):
    """A group's default: members may use unrestricted tools without a rule or grant.

    The trigger `acl_group_made` gives every new group its policy and its root space.
    """

    group = models.OneToOneField(Group, models.CASCADE, related_name="policy")
    open_default = models.BooleanField(
        "open",
        default=False,
        help_text="Open: members may use every integration that is not restricted. "
        "Otherwise only what the group or the member has been given.",
    )

    # Set by its service only, which asks whether the admin has as much power as the group.
    joined_by_default = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text="New people join it, by whatever door they come.",
    )

    # In the migration `0003_every_group_has_a_root`, at commit: who makes both by hand may.
    triggers: ClassVar[Triggers] = (
        DatabaseTrigger(
            "acl_group_made",
            "AFTER INSERT DEFERRABLE INITIALLY DEFERRED",
            "ROW",
            "acl_group_made",
            table="auth_group",
        ),
    )

    class Meta:
        verbose_name_plural = "group policies"

    def __str__(self) -> str:
        return f"{self.group}: {'open' if self.open_default else 'allow-listed'}"


class Space(models.Model):
    """A place of work in a group; a child inherits from its parent. The one without a parent is
    the root, and the trigger `acl_space_gone` makes another if it is removed."""

    group = models.ForeignKey(Group, models.CASCADE, related_name="spaces")
    parent = models.ForeignKey(
        "self", models.CASCADE, null=True, blank=True, related_name="children"
    )
    name = models.CharField(max_length=120)
    slug = models.SlugField(max_length=60)

    triggers: ClassVar[Triggers] = (
        DatabaseTrigger(
            "acl_space_gone",
            "AFTER DELETE OR UPDATE OF group_id, parent_id DEFERRABLE INITIALLY DEFERRED",
            "ROW",
            "acl_space_gone",
        ),
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["group"], condition=Q(parent__isnull=True), name="acl_space_one_root"
            ),
            models.UniqueConstraint(fields=["group", "slug"], name="acl_space_slug"),
        ]

    def __str__(self) -> str:
        return f"{self.group}/{self.slug}"

    def clean(self) -> None:
        """Check the parent for forms: it must be of the same group, and not below the space."""
        place, visited = self.parent, {self.pk} - {None}
        if place is not None and place.group_id != self.group_id:
            raise ValidationError({"parent": _("The parent must be a space of the same group.")})
        while place is not None:
            if place.pk in visited:
                raise ValidationError({"parent": _("A space cannot be below itself.")})
            visited.add(place.pk)
            place = place.parent


# Bases of grants and rules; the catalogue has the tables, since a row points at what it is about.
#
# A concrete child's Meta must inherit from the base's Meta, or guardian's unique constraint is
# silently lost.


class UserGrantBase(UserObjectPermissionBase):
    """A grant to one user, in every group of theirs."""

    class Meta(UserObjectPermissionBase.Meta):
        abstract = True


class GroupGrantBase(GroupObjectPermissionBase):
    """A grant to a group."""

    class Meta(GroupObjectPermissionBase.Meta):
        abstract = True


class RuleBase(models.Model):
    """A rule in a space. Which of several wins is described in `acl/rights/precedence.py`."""

    class Effect(models.IntegerChoices):
        DENY = 0, gettext_lazy("deny")
        PROPOSE = 1, gettext_lazy("propose")
        ALLOW = 2, gettext_lazy("allow")

    space = models.ForeignKey(Space, models.CASCADE, related_name="+")
    effect = models.SmallIntegerField(choices=Effect.choices)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="+"
    )
    group = models.ForeignKey(Group, models.CASCADE, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True
        constraints = [
            models.CheckConstraint(
                condition=Q(user__isnull=True) | Q(group__isnull=True),
                name="%(app_label)s_%(class)s_one_subject",
            ),
            models.CheckConstraint(
                condition=Q(effect__in=[0, 1, 2]), name="%(app_label)s_%(class)s_effect"
            ),
        ]


# Requests for access.


class AccessRequest(models.Model):
    """A request for a missing tool. It names no capability: the person cannot see hidden ones."""

    class State(models.TextChoices):
        OPEN = "open"
        GRANTED = "granted"
        DECLINED = "declined"

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="access_requests"
    )
    group = models.ForeignKey(Group, models.CASCADE, related_name="access_requests")
    wish = models.CharField(max_length=500)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    note = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    answered_at = models.DateTimeField(null=True, blank=True)
    answered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state="open", answered_at=None, answered_by=None)
                | (~Q(state="open") & Q(answered_at__isnull=False)),
                name="acl_accessrequest_answered",
            )
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.wish[:60]}"
