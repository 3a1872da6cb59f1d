"""Keys of chat backends and scripts. Only a digest is kept."""

from django.conf import settings
from django.contrib.auth.models import Group
from django.contrib.postgres.fields import ArrayField
from django.db import models


class ApiKey(models.Model):
    """A key bound to a group. It acts for its owner, or, where allowed, for any user of the
    group."""

    class Scope(models.TextChoices):
        SELECT = "select"
        DISCOVER = "discover"
        EXECUTE = "execute"
        ADMIN = "admin"

    name = models.CharField(max_length=120)
    group = models.ForeignKey(Group, models.CASCADE, related_name="api_keys")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="api_keys",
        help_text="Whom the key acts for when a request names nobody.",
    )
    acts_for_users = models.BooleanField(default=False)
    scopes = ArrayField(models.CharField(max_length=16, choices=Scope.choices))
    prefix = models.CharField(
        max_length=12, help_text="The key's first characters, to tell keys apart."
    )
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name = "API key"
        ordering = ["-created_at", "pk"]
        # Asked of whoever names another person: in a session by `acl/services/callers.py`, of a key
        # when somebody lets it act for users. Superusers have it, other staff only where given.
        permissions = [("act_for_others", "Can act for other people")]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"
