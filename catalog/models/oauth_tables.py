"""OAuth at servers: clients, accounts and sign-in attempts.

No secret is stored in the clear: tokens are `Secret` rows, other values are sealed.
"""

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from django.contrib.auth.models import User
from django.db import models
from django.db.models.expressions import RawSQL
from django.utils import timezone

from acl.models.rights_change import RightsChange, counted_rows
from acl.platform.migration_operations import Triggers
from acl.platform.stored_json import StoredJSONField
from catalog.models.integration import Integration
from catalog.readiness.obstacles import steers_sql, still_needed

# A secret or an account of one person, or shared by all.
_READINESS, _PERSON = RightsChange.Concern.READINESS, "COALESCE(r.user_id, 0)"
# Longer sign-ins count as abandoned.
SIGN_IN_LASTS = timedelta(minutes=10)


class OAuthClient(models.Model):
    """Pegboard's client at an integration's authorization server, valid for one issuer only."""

    integration = models.OneToOneField(Integration, models.CASCADE, related_name="oauth_client")
    client_id = models.CharField(max_length=500)
    issuer = models.CharField(
        max_length=500, blank=True, help_text="Empty until one set by hand is first used."
    )
    redirect_uri = models.CharField(max_length=500, blank=True)
    auth_method = models.CharField(max_length=40, blank=True)
    by_hand = models.BooleanField(default=False)

    def __str__(self) -> str:
        return self.client_id


class OAuthConnection(models.Model):
    """An account at a server, of one person or shared by all users of the integration."""

    triggers: ClassVar[Triggers] = counted_rows("catalog_oauthconnection", _READINESS, _PERSON)

    integration = models.ForeignKey(Integration, models.CASCADE, related_name="oauth_connections")
    user = models.ForeignKey(User, models.CASCADE, null=True, blank=True, related_name="+")
    endpoint = models.CharField(
        max_length=500, help_text="Where the token may go; to another address it never does."
    )
    issuer = models.CharField(max_length=500)
    token_endpoint = models.CharField(max_length=500)
    revocation_endpoint = models.CharField(
        max_length=500,
        blank=True,
        db_default="",  # during an upgrade, the previous version still inserts rows
        help_text="Where the token is given back, if anywhere.",
    )
    resource = models.CharField(max_length=500)
    scope = models.CharField(max_length=2000, blank=True)
    asked_scope = models.CharField(
        max_length=2000, blank=True, db_default="", help_text="What its sign-in asked for."
    )
    wanted_scope = models.CharField(
        max_length=2000, blank=True, db_default="", help_text="What the next sign-in asks for."
    )
    expires_at = models.DateTimeField(null=True, blank=True)
    can_refresh = models.BooleanField(default=False)
    problem = models.CharField(
        max_length=300, blank=True, help_text="Why someone has to sign in again."
    )
    connected_at = models.DateTimeField(auto_now_add=True)
    refreshed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["integration", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["integration", "user"],
                nulls_distinct=False,
                name="one_account_at_a_server",
            )
        ]

    def __str__(self) -> str:
        return f"{self.integration_id}/{self.user_id or 'all'}"


class OAuthRevocation(models.Model):
    """A token to be revoked at its server (RFC 7009).

    It has no foreign keys, because account, integration or person may be gone by then.
    """

    endpoint = models.CharField(max_length=500)
    client_id = models.CharField(max_length=500)
    auth_method = models.CharField(max_length=40)
    sealed_token = models.BinaryField()
    token_purpose = models.CharField(max_length=300)
    sealed_client = models.BinaryField(default=b"", help_text="The client's secret, if it has one.")
    client_purpose = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"revocation {self.pk}"  # the address may be a secret


class OAuthSignIn(models.Model):
    """A sign-in attempt, from the button to the token. Its state only moves forward."""

    class State(models.TextChoices):
        PREPARING = "preparing"
        WAITING = "waiting", "waits for the person"
        FINISHING = "finishing"
        DONE = "done"
        FAILED = "failed"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    integration = models.ForeignKey(Integration, models.CASCADE, related_name="+")
    user = models.ForeignKey(
        User, models.CASCADE, null=True, related_name="+", help_text="Whose account; empty for all."
    )
    by = models.ForeignKey(User, models.CASCADE, related_name="+")
    state = models.CharField(max_length=12, choices=State.choices, default=State.PREPARING)
    ticket_digest = models.CharField(
        max_length=64, unique=True, help_text="Of the `state` that only the session knows."
    )
    redirect_uri = models.CharField(max_length=500)
    authorization_url = models.TextField(blank=True)
    details = StoredJSONField(default=dict, help_text="What was discovered; nothing secret.")
    sealed_verifier = models.BinaryField(default=b"")
    sealed_code = models.BinaryField(default=b"")
    message = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.integration_id} {self.state}"

    @property
    def purpose(self) -> str:
        """Return the purpose its values are sealed for."""
        return f"sign-in/{self.public_id}"

    @property
    def is_over(self) -> bool:
        """Return True once it has ended or expired."""
        over = self.state in (self.State.DONE, self.State.FAILED)
        return over or timezone.now() > self.created_at + SIGN_IN_LASTS


# Sealed secrets of integrations.

# Names of Pegboard's own values, such as tokens: nobody can set them and no server gets them.
RESERVED_PREFIX = "oauth:"
TOKEN, CLIENT = f"{RESERVED_PREFIX}token", f"{RESERVED_PREFIX}client"


_STEERS = f"""(SELECT {steers_sql(integration="i", row="catalog_secret")}
    FROM catalog_integration i WHERE i.id = catalog_secret.integration_id)"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class SecretsInUse:
    """The secrets of one call, and the names of shared ones that may not go along.

    `own` is True if any is the person's, `alone` if one of theirs steers the call, so that nothing
    shared goes along, and `has_credential` if one of theirs is a credential.
    """

    rows: "tuple[Secret, ...]"
    withheld: tuple[str, ...] = ()
    own: bool = False
    alone: bool = False
    has_credential: bool = False

    def missing(self, integration: Integration) -> list[str]:
        """Return the names that have no value that may be used."""
        used = {row.name for row in self.rows}
        missing = still_needed(integration.required_secrets, integration.source_ref, used)
        return list(dict.fromkeys((*missing, *(n for n in self.withheld if n not in used))))


class SecretQuerySet(models.QuerySet["Secret"]):
    """Queries for the secrets of a connection."""

    def for_use(self, integration: Integration, *, user_id: int | None) -> SecretsInUse:
        """Return the shared secrets, then the person's own if the integration allows them.

        Read in one statement: a value of one's own that goes meanwhile must not leave a mixture.
        """
        theirs = models.Q(user=None)
        if integration.own_secrets:
            theirs |= models.Q(user=user_id)
        # Personal secrets last, so that in a dict they override the shared ones.
        order = models.F("user").asc(nulls_first=True)
        secrets = self.filter(theirs, integration=integration).exclude(
            name__startswith=RESERVED_PREFIX
        )
        steers = RawSQL(_STEERS, (), output_field=models.BooleanField())  # noqa: S611 - constant
        rows = tuple(secrets.annotate(steers=steers).order_by(order, "name", "pk"))
        steering = [row.steers for row in rows if row.user_id is not None]
        if not any(steering):
            return SecretsInUse(rows, own=bool(steering), has_credential=bool(steering))
        return SecretsInUse(
            tuple(row for row in rows if row.user_id is not None),
            tuple(row.name for row in rows if row.user_id is None),
            own=True,
            alone=True,
            has_credential=not all(steering),
        )


class Secret(models.Model):
    """A named value needed by an integration, personal or shared.

    Only sealed bytes are stored. `catalog.servers.secrets` decrypts them, in workers only.
    """

    triggers: ClassVar[Triggers] = counted_rows("catalog_secret", _READINESS, _PERSON)

    integration = models.ForeignKey(Integration, models.CASCADE, related_name="secrets")
    user = models.ForeignKey(User, models.CASCADE, null=True, blank=True, related_name="+")
    name = models.CharField(max_length=120)
    sealed = models.BinaryField()
    set_at = models.DateTimeField(auto_now=True)

    steers: bool  # of a row of `for_use`: its value decides where the call goes, or what runs

    objects = SecretQuerySet.as_manager()

    class Meta:
        ordering = ["integration", "name", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["integration", "user", "name"],
                nulls_distinct=False,
                name="one_secret_of_a_name",
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def purpose(self) -> str:
        """Return the purpose sealed along with the value."""
        return f"{self.integration_id}/{self.user_id or 'all'}/{self.name}"
