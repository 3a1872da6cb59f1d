"""Keys of chat backends and scripts, kept as digests, and users that are programs."""

from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import AbstractUser, Group
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now

from acl.platform.migration_operations import DatabaseTrigger, Triggers

# Keys of chat backends and scripts. Only a digest is kept.

# Ranks of people and credentials, from the least power to the most.


class Rank(models.IntegerChoices):
    """Ranks. A credential keeps its rank: a promotion of its owner does not raise it."""

    MEMBER = 0, "member"
    STAFF = 1, "admin"
    SUPERUSER = 2, "superuser"


def rank_of(person: AbstractUser) -> Rank:
    """Return the person's rank now. Without the staff flag even a superuser administers nothing,
    which is Django's own rule for its admin."""
    if not (person.is_active and person.is_staff):
        return Rank.MEMBER
    return Rank.SUPERUSER if person.is_superuser else Rank.STAFF


class ApiKey(models.Model):
    """An API key for some groups, or for all groups of its subject.

    The subject is its owner or, if allowed, any user that a request names.
    """

    class Scope(models.TextChoices):
        SELECT = "select"
        DISCOVER = "discover"
        EXECUTE = "execute"
        REGISTER = "register"
        SCIM = "scim"
        ADMIN = "admin"

    name = models.CharField(max_length=120)
    groups = models.ManyToManyField(
        Group, blank=True, related_name="api_keys", help_text="The groups that the key works in."
    )
    all_groups = models.BooleanField(
        default=False, help_text="It works in every group of the person that it acts for."
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="api_keys",
        help_text="Whom the key acts for when a request names nobody.",
    )
    acts_for_users = models.BooleanField(default=False)
    # Deleting an application revokes its keys first: without it they could do more.
    application = models.ForeignKey(
        "acl.Application",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="keys",
        help_text="The chat application that it belongs to.",
    )
    scopes = ArrayField(models.CharField(max_length=16, choices=Scope.choices))
    prefix = models.CharField(
        max_length=12, help_text="The key's first characters, to tell keys apart."
    )
    digest = models.CharField(max_length=64, unique=True, editable=False)
    rank = models.PositiveSmallIntegerField(
        choices=Rank.choices,
        default=Rank.MEMBER,
        editable=False,
        help_text="Its owner's rank when it was made: the key never gets a higher one.",
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        editable=False,
        related_name="+",
        help_text="The person who made it, or who owned the key that did.",
    )
    # A key whose maker is forgotten could ask what that maker's creator then approves.
    made_with = models.ForeignKey(
        "self",
        models.CASCADE,
        null=True,
        editable=False,
        related_name="made",
        help_text="The key that it was made with, and that it does not outlive.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    replaced_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="When its successor was made."
    )
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name = "API key"
        ordering = ["-created_at", "pk"]
        # Required to name another person: in a session by `acl.rights.caller_lookup`, for a key
        # when it is allowed to act for users. Superusers have it, other staff only where granted.
        permissions = [("act_for_others", "Can act for other people")]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def scope_of_groups(self) -> str:
        """The groups in words. Prefetch `groups` for lists."""
        if self.all_groups:
            return "all groups"
        return ", ".join(sorted(group.name for group in self.groups.all())) or "no group"


# What a key makes (another key, an invitation, a call or a proposal that waits, a capability that
# nobody has approved) ends when the key does. What was decided meanwhile stays: it was compared
# with the key as it was decided.
IN_FORCE = models.Q(
    models.Q(expires_at=None) | models.Q(expires_at__gt=Now()),
    models.Q(owner=None) | models.Q(owner__is_active=True),
    models.Q(rank=Rank.MEMBER) | models.Q(owner__is_staff=True),
    revoked_at=None,
)
_IN_FORCE_SQL = """EXISTS (
  SELECT FROM acl_apikey k LEFT JOIN auth_user o ON o.id = k.owner_id
  WHERE k.id = {key} AND k.revoked_at IS NULL
    AND (k.expires_at IS NULL OR k.expires_at > statement_timestamp())
    AND COALESCE(o.is_active, true) AND (k.rank = 0 OR o.is_staff)
    AND (k.all_groups AND k.acts_for_users OR (
      (k.all_groups OR EXISTS (SELECT FROM acl_apikey_groups g
        WHERE g.apikey_id = k.id AND g.group_id = ANY ({groups})))
      AND (k.owner_id IS NULL OR EXISTS (SELECT FROM auth_user_groups m
        WHERE m.user_id = o.id AND m.group_id = ANY ({groups}))))))"""


def in_force_sql(key: str, groups: str) -> str:
    """Return the condition, in SQL, that a key works now, in one of these groups."""
    return _IN_FORCE_SQL.format(key=key, groups=groups)


def hold_key(key_id: int) -> bool:
    """Lock a key until the end of the transaction, so that its revocation finds what is made with
    it meanwhile; return False if it has ended since the request came."""
    rows = ApiKey.objects.select_for_update(no_key=True, of=["self"]).filter(IN_FORCE)
    return bool(rows.filter(pk=key_id))  # Django forgets `of` where it only asks for existence


# Users that are programs: keys can belong to them, and nobody can sign in as them.


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
    erased: ClassVar = {"user": {"external_id": ""}}

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
