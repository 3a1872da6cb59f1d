"""Icons of integrations and listings: where they are declared, and the picture that was drawn."""

import hashlib
import uuid

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy


class IconImage(models.Model):
    """A picture as pages show it. Its key is random: nobody guesses the address of one."""

    public_id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of its content.")
    content = models.BinaryField(help_text="A PNG that Pegboard wrote.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-created_at", "pk"]

    def __str__(self) -> str:
        return str(self.public_id)


class IconSource(models.Model):
    """A declared address of an icon, read by the outgoing worker when it is due.

    The row is the promise: `due_at` says when it is to be read, also after a failure.
    """

    class State(models.TextChoices):
        WAITING = "waiting", gettext_lazy("Waiting")
        READY = "ready", gettext_lazy("Ready")
        FAILED = "failed", gettext_lazy("Failed")

    address = models.TextField(help_text="A web address, or a data: address with the picture.")
    address_digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of it.")
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    problem = models.CharField(max_length=300, blank=True, help_text="Why it is not shown.")
    image = models.ForeignKey(
        IconImage, models.SET_NULL, null=True, blank=True, related_name="sources"
    )
    attempts = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField(db_default=Now())
    read_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["due_at", "id"], name="icon_due")]

    def __str__(self) -> str:
        return f"icon source {self.pk}"  # its address may be a secret

    @property
    def is_data(self) -> bool:
        """Return True if the address holds the picture itself, so that nothing is fetched."""
        return self.address.startswith("data:")


def digest_of_address(address: str) -> str:
    """Return the digest by which an address is found."""
    return hashlib.sha256(address.encode()).hexdigest()
