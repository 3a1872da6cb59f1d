"""OAuth clients, their connections, codes and tokens. Of codes and tokens only digests are kept.

A connection is an API key without a text: calls, approvals, limits and the audit log know it as
one, and it acts as its owner.
"""

from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from acl.models.api_key import ApiKey
from acl.platform.jobs import JobRow

_DIGEST = 64


class RegisteredClient(models.Model):
    """A public client, registered by itself or by its document. Its name is a claim."""

    # Random, or the address of its document.
    client_id = models.CharField(max_length=500, unique=True, editable=False)
    name = models.CharField(max_length=120)
    redirect_uris = ArrayField(models.CharField(max_length=500))
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "registered client"
        ordering = ["-created_at", "pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def published_by(self) -> str:
        """Return the host of the client's document, which is proven; "" if it has none."""
        return urlsplit(self.client_id).hostname or "" if "://" in self.client_id else ""


class ClientConnection(models.Model):
    """A person's connection of a client to one address."""

    key = models.OneToOneField(ApiKey, models.CASCADE, related_name="connection")
    client = models.ForeignKey(RegisteredClient, models.CASCADE, related_name="connections")
    resource = models.CharField(max_length=500, help_text="The MCP address that it may use.")

    class Meta:
        verbose_name = "client connection"
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.client} → {self.resource}"


class AuthorizationCode(models.Model):
    """An authorization code. A used one stays until it expires, to notice its replay."""

    digest = models.CharField(max_length=_DIGEST, unique=True, editable=False)
    client = models.ForeignKey(RegisteredClient, models.CASCADE, related_name="+")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    redirect_uri = models.CharField(max_length=500)
    scopes = ArrayField(models.CharField(max_length=16, choices=ApiKey.Scope.choices))
    resource = models.CharField(max_length=500)
    challenge = models.CharField(max_length=128)
    expires_at = models.DateTimeField()
    connection = models.ForeignKey(
        ClientConnection, models.CASCADE, null=True, related_name="+", help_text="What it became."
    )

    class Meta:
        verbose_name = "authorization code"
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.client} for {self.person}"


class ClientToken(models.Model):
    """An access or refresh token of a connection."""

    class Kind(models.TextChoices):
        ACCESS = "access"
        REFRESH = "refresh"

    digest = models.CharField(max_length=_DIGEST, unique=True, editable=False)
    connection = models.ForeignKey(ClientConnection, models.CASCADE, related_name="tokens")
    kind = models.CharField(max_length=7, choices=Kind.choices)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, help_text="When a refresh token was exchanged.")

    class Meta:
        verbose_name = "client token"
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(used_at__isnull=True) | Q(kind="refresh"),
                name="acl_clienttoken_only_refresh_is_used",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} token of {self.connection}"


# Documents by which OAuth clients describe themselves, at the address that is their client id.


class ClientDocument(JobRow):
    """A client's metadata document. The row is the promise that the outgoing worker reads it."""

    class State(models.TextChoices):
        WAITING = "waiting"
        READING = "reading"
        READY = "ready"
        FAILED = "failed"

    address = models.CharField(max_length=500, unique=True, help_text="The client id.")
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    problem = models.CharField(max_length=300, blank=True, help_text="Why it was refused.")
    client = models.OneToOneField(
        RegisteredClient, models.CASCADE, null=True, related_name="document"
    )
    asked_at = models.DateTimeField(db_default=Now(), help_text="When a person last needed it.")
    kept_until = models.DateTimeField(
        null=True, help_text="Until then it is not read again, nor its refusal forgotten."
    )

    class Meta:
        verbose_name = "client document"
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                condition=~Q(state="ready") | Q(client__isnull=False, kept_until__isnull=False),
                name="acl_clientdocument_ready_is_a_client",
            )
        ]

    def __str__(self) -> str:
        return self.address
