"""Places of work inside a group, and the group's default."""

from typing import ClassVar

from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext as _

from acl.platform.database_triggers import DatabaseTrigger, Triggers


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
