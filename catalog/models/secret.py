"""Sealed secrets of integrations."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import models
from django.db.models.expressions import RawSQL

from catalog.models.integration import Integration
from catalog.readiness.own_values import steers_sql

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
        needed = dict.fromkeys((*integration.required_secrets, *self.withheld))
        return [name for name in needed if name not in used]


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
        named = self.filter(theirs, integration=integration).exclude(
            name__startswith=RESERVED_PREFIX
        )
        steers = RawSQL(_STEERS, (), output_field=models.BooleanField())  # noqa: S611 - constant
        rows = tuple(named.annotate(steers=steers).order_by(order, "name", "pk"))
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
