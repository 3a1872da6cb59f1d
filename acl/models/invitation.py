"""An invitation: the one way to an account. Only a digest of its link is kept."""

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower


class Invitation(models.Model):
    """An invitation with its groups and its outcome."""

    class Role(models.TextChoices):
        MEMBER = "member"
        ADMIN = "admin"

    email = models.EmailField()
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)
    groups = models.ManyToManyField(Group, blank=True, related_name="+")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    made_with = models.ForeignKey(
        "acl.ApiKey", models.CASCADE, null=True, blank=True, editable=False, related_name="+"
    )
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                Lower("email"),
                condition=Q(accepted_at__isnull=True, withdrawn_at__isnull=True),
                name="acl_invitation_one_open",
            ),
            models.CheckConstraint(
                condition=Q(accepted_at__isnull=True) | Q(withdrawn_at__isnull=True),
                name="acl_invitation_one_end",
            ),
        ]

    def __str__(self) -> str:
        return self.email
