"""Documents by which OAuth clients describe themselves, at the address that is their client id."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from acl.models.registered_client import RegisteredClient
from acl.platform.jobs.job_rows import JobRow


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
