"""Models of installations: the request, its state, and its progress."""

import uuid

from django.contrib.auth.models import Group, User
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from acl.models import Space
from acl.platform.jobs import JobRow
from acl.platform.stored_json import OrderedJSONField, StoredJSONField, is_storable_as_jsonb
from catalog.formats.secret_redaction import word_address
from catalog.models import ApiDocument, Integration


class Installation(JobRow):
    """An installation, update or rollback of an integration.

    Its state changes only by compare-and-set: of two workers, one moves it.
    """

    class Kind(models.TextChoices):
        INSTALL = "install"
        UPDATE = "update"
        ROLL_BACK = "roll_back", "roll back"

    class State(models.TextChoices):
        CONFIGURE = "configure", _("Configure")
        QUEUED = "queued", _("Queued")
        NEEDS_SECRET = "needs_secret", _("Needs a secret")
        FETCHING = "fetching", _("Fetching")
        CHECKING = "checking", _("Checking")
        CONNECTING = "connecting", _("Connecting")
        LISTING = "listing", _("Listing")
        STORING = "storing", _("Storing")
        EMBEDDING = "embedding", _("Embedding")
        NEEDS_APPROVAL = "needs_approval", _("needs approval")
        READY = "ready", _("Ready")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    # In this order. A worker that takes over restarts at the first repeatable state.
    WORKING = (
        State.QUEUED,
        State.FETCHING,
        State.CHECKING,
        State.CONNECTING,
        State.LISTING,
        State.STORING,
        State.EMBEDDING,
    )

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    integration = models.ForeignKey(Integration, models.CASCADE, related_name="installations")
    groups = models.ManyToManyField(Group, blank=True, related_name="+")
    spaces = models.ManyToManyField(Space, blank=True, related_name="+")
    kind = models.CharField(max_length=9, choices=Kind.choices, default=Kind.INSTALL)
    descriptor = StoredJSONField(default=dict, help_text="What is installed, as it was confirmed.")
    constraints = ArrayField(
        models.CharField(max_length=200),
        default=list,
        blank=True,
        help_text="Bounds on what its package needs, such as name<2.",
    )
    state = models.CharField(max_length=16, choices=State.choices, default=State.QUEUED)
    reason = models.CharField(max_length=32, blank=True, help_text="Why it failed, for machines.")
    message = models.TextField(blank=True, help_text="How it stands, in words that say what to do.")
    command_digest = models.CharField(
        max_length=64, blank=True, help_text="What was shown and confirmed; nothing else starts."
    )
    offered = ArrayField(
        models.CharField(max_length=200),
        default=list,
        blank=True,
        help_text="Bounds that may help, after it crashed.",
    )
    place = models.CharField(max_length=36, blank=True, help_text="The folder of its package.")
    package = StoredJSONField(default=dict, blank=True, help_text="How the package was installed.")
    tools = OrderedJSONField(default=list, blank=True, help_text="What the server says it has.")
    changes = StoredJSONField(
        default=list, blank=True, help_text="How that differs from what is installed."
    )
    approved_tools = models.CharField(
        max_length=64, blank=True, help_text="Digest of what was seen."
    )
    by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    approved_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    idempotency_key = models.CharField(max_length=255, blank=True)
    request_digest = models.CharField(max_length=64, blank=True, help_text="Of what was asked for.")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        permissions = [("install_stdio", "Can install servers that run programs on this machine")]
        constraints = [
            is_storable_as_jsonb("tools", name="tools_are_plain"),
            models.UniqueConstraint(
                fields=["integration"],
                condition=models.Q(
                    state__in=(
                        "configure",
                        "queued",
                        "fetching",
                        "checking",
                        "connecting",
                        "listing",
                        "storing",
                        "embedding",
                        "needs_approval",
                    )
                ),
                name="one_installation_at_once",
            ),
            models.UniqueConstraint(
                fields=["by", "idempotency_key"],
                condition=~models.Q(idempotency_key=""),
                name="one_installation_of_a_key",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.integration} {self.state}"

    @property
    def command(self) -> tuple[str, ...]:
        """The whole command to confirm; empty for remote servers."""
        return tuple(self.descriptor.get("command") or ())

    @property
    def version(self) -> str:
        """The version of the descriptor."""
        return str(self.descriptor.get("version") or "")


class InstallationEvent(models.Model):
    """A progress event of an installation."""

    installation = models.ForeignKey(Installation, models.CASCADE, related_name="events")
    state = models.CharField(max_length=16, choices=Installation.State.choices)
    message = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.message or self.state


# Model of additions: pasted by an admin, and looked at by a worker.


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
        return self.name or word_address(self.address) or str(self.public_id)


class OwnServerPolicy(models.Model):
    """The single row of the switch for servers of people's own."""

    allowed = models.BooleanField(default=False)

    class Meta:
        default_permissions = ()
        constraints = [
            models.CheckConstraint(condition=models.Q(pk=1), name="marketplace_ownservers_one")
        ]

    def __str__(self) -> str:
        return "allowed" if self.allowed else "not allowed"
