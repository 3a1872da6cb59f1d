"""Users that are programs: keys can belong to them, and nobody can sign in as them."""

from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

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


# Languages of people: what their notifications and mails are written in.


class PersonLanguage(models.Model):
    """The language of a person, and who said so: a choice of their own counts most."""

    class Origin(models.TextChoices):
        BROWSER = "browser"
        PROVIDER = "provider", "identity provider"
        PERSON = "person"

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="language")
    code = models.CharField(max_length=40, help_text="A tag such as de or de-AT, as it was said.")
    origin = models.CharField(max_length=8, choices=Origin.choices)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(condition=~Q(code=""), name="acl_personlanguage_has_code")
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.code}"


# An invitation: the one way to an account. Only a digest of its link is kept.


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


# Records of SCIM clients: their own id of a person or a group.


class ScimRecord(models.Model):
    """The client's own id of a person or a group, and the last change by SCIM."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="scim"
    )
    group = models.OneToOneField(Group, models.CASCADE, null=True, blank=True, related_name="scim")
    external_id = models.CharField(max_length=200, blank=True, db_index=True)
    created_at = models.DateTimeField(auto_now_add=True)
    modified_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(
        null=True, blank=True, help_text="A client deleted the person: SCIM no longer shows them."
    )

    class Meta:
        verbose_name = "SCIM record"
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(user__isnull=True) ^ Q(group__isnull=True),
                name="acl_scimrecord_one_subject",
            )
        ]

    def __str__(self) -> str:
        return f"{self.user or self.group}"


# Groups that a sign-in with the provider gives.


class SignInGroup(models.Model):
    """Pair of a value of the provider's claim, and a group that it gives."""

    value = models.CharField(max_length=200)
    group = models.ForeignKey(Group, models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["value", "group"], name="acl_sign_in_group")]

    def __str__(self) -> str:
        return f"{self.value} = {self.group.name}"
