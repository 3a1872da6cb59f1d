"""Users that are programs: keys can belong to them, and nobody can sign in as them."""

from typing import ClassVar

from django.conf import settings
from django.db import models

from acl.platform.database_triggers import DatabaseTrigger, Triggers


class ServiceAccount(models.Model):
    """Marks a user as a program, for as long as the user exists.

    It has rights as people have them, by its groups, grants and rules. The triggers
    `acl_service_account_password` let it have no password; without one and without an e-mail
    address there is no way to sign in.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        primary_key=True,
        related_name="service_account",
    )
    description = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    # In the migration `0004_service_account`.
    triggers: ClassVar[Triggers] = (
        DatabaseTrigger(
            "acl_service_account_password",
            "AFTER INSERT OR UPDATE",
            "ROW",
            "acl_service_account_without_password",
        ),
        DatabaseTrigger(
            "acl_service_account_password",
            "AFTER UPDATE OF password",
            "ROW WHEN (new.password::text !~~ '!%'::text"
            " AND new.password::text <> old.password::text)",
            "acl_service_account_without_password",
            table="auth_user",
        ),
    )

    def __str__(self) -> str:
        return self.user.get_username()
