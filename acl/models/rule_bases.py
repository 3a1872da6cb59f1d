"""Bases of grants and rules; the catalogue has the tables, since a row points at what it is about.

A concrete child's Meta must inherit from the base's Meta, or guardian's unique constraint is
silently lost.
"""

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from guardian.models import GroupObjectPermissionBase, UserObjectPermissionBase

from acl.models.space import Space


class UserGrantBase(UserObjectPermissionBase):
    """A grant to one user, in every group of theirs."""

    class Meta(UserObjectPermissionBase.Meta):
        abstract = True


class GroupGrantBase(GroupObjectPermissionBase):
    """A grant to a group."""

    class Meta(GroupObjectPermissionBase.Meta):
        abstract = True


class RuleBase(models.Model):
    """A rule in a space. Which of several wins is described in `acl/rights/precedence_sql.py`."""

    class Effect(models.IntegerChoices):
        DENY = 0, _("deny")
        PROPOSE = 1, _("propose")
        ALLOW = 2, _("allow")

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
