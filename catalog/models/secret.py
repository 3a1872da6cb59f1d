"""Sealed secrets of integrations."""

from django.contrib.auth.models import User
from django.db import models

from catalog.models.integration import Integration

# Names of Pegboard's own values, such as tokens: nobody can set them and no server gets them.
RESERVED_PREFIX = "oauth:"
TOKEN, CLIENT = f"{RESERVED_PREFIX}token", f"{RESERVED_PREFIX}client"


class SecretQuerySet(models.QuerySet["Secret"]):
    """Queries for the secrets of a connection."""

    def for_use(self, integration: Integration, *, user_id: int | None) -> "SecretQuerySet":
        """Return the shared secrets, then the person's own if the integration allows them."""
        theirs = models.Q(user=None)
        if integration.own_secrets:
            theirs |= models.Q(user=user_id)
        # Personal secrets last, so that in a dict they override the shared ones.
        order = models.F("user").asc(nulls_first=True)
        named = self.filter(theirs, integration=integration).exclude(
            name__startswith=RESERVED_PREFIX
        )
        return named.order_by(order, "name", "pk")


class Secret(models.Model):
    """A named value needed by an integration, personal or shared.

    Only sealed bytes are stored. `catalog.servers.secrets` decrypts them, in workers only.
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
        """Return the purpose sealed along with the value."""
        return f"{self.integration_id}/{self.user_id or 'all'}/{self.name}"
