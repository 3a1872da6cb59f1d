"""Users that are programs: keys can belong to them, and nobody can sign in as them."""

from django.conf import settings
from django.db import models


class ServiceAccount(models.Model):
    """Marks a user as a program, for as long as the user exists.

    It has rights as people have them, by its groups, grants and rules. A trigger of the migration
    `service_account` lets it have no password; without one and without an e-mail address there is
    no way to sign in.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        primary_key=True,
        related_name="service_account",
    )
    description = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.user.get_username()
