"""Secrets of integrations, sealed."""

from django.contrib.auth.models import User
from django.db import models

from catalog.models.integration import Integration

# Names of what Pegboard keeps itself, such as tokens: nobody sets them and no server is told them.
RESERVED_PREFIX = "oauth:"
TOKEN, CLIENT = f"{RESERVED_PREFIX}token", f"{RESERVED_PREFIX}client"


class SecretQuerySet(models.QuerySet["Secret"]):
    """Whose secrets are used."""

    def for_use(self, integration: Integration, *, user_id: int | None) -> "SecretQuerySet":
        """Those of the integration, and after them those that the person has set for themselves
        where the integration allows that."""
        theirs = models.Q(user=None)
        if integration.own_secrets:
            theirs |= models.Q(user=user_id)
        order = models.F("user").asc(nulls_first=True)
        named = self.filter(theirs, integration=integration).exclude(
            name__startswith=RESERVED_PREFIX
        )
        return named.order_by(order, "name", "pk")


class Secret(models.Model):
    """A named value that an integration needs; of one person, or of everybody who may use it.

    Only sealed bytes are here. `catalog.servers.secrets` opens them, and only workers call it.
    """

    integration = models.ForeignKey(Integration, models.CASCADE, related_name="secrets")
    user = models.ForeignKey(User, models.CASCADE, null=True, blank=True, related_name="+")
    name = models.CharField(max_length=120)
    sealed = models.BinaryField()
    set_at = models.DateTimeField(auto_now=True)

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
        """What it is for; sealed along with it."""
        return f"{self.integration_id}/{self.user_id or 'all'}/{self.name}"
