"""Model of additions: pasted by an admin, and looked at by a worker."""

import uuid

from django.contrib.auth.models import User
from django.db import models
from django.utils.translation import gettext_lazy as _

from acl.platform.jobs.job_rows import JobRow
from catalog.models import ApiDocument


class Addition(JobRow):
    """A pasted address, document, package or program, and its listing."""

    class State(models.TextChoices):
        LOOKING = "looking", _("Looking")
        READY = "ready", _("Ready")
        FAILED = "failed", _("Failed")

    class What(models.TextChoices):
        ADDRESS = "address", _("Address")
        API = "api", _("HTTP API")
        SERVER = "server", _("MCP server")
        PACKAGE = "package", _("Package")
        PROGRAM = "program", _("Program")

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    what = models.CharField(max_length=8, choices=What.choices)
    name = models.CharField(max_length=100, blank=True, help_text="As the person calls it.")
    address = models.CharField(max_length=500, blank=True, help_text="The pasted address.")
    api_address = models.CharField(
        max_length=500, blank=True, help_text="Of the API, if its document says none."
    )
    document = models.ForeignKey(ApiDocument, models.SET_NULL, null=True, blank=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.LOOKING)
    reason = models.CharField(max_length=32, blank=True, help_text="Why it failed, for machines.")
    message = models.TextField(blank=True, help_text="What it is, or why it cannot be added.")
    listing = models.CharField(max_length=200, blank=True, help_text="The listing that it became.")
    by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return self.name or self.address or str(self.public_id)
