"""Integrations: providers of capabilities, with their icons and health history."""

import hashlib
import uuid
from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy

from acl.models.rights_change import RightsChange, counted_columns, kept_periods
from acl.platform.migration_operations import DatabaseTrigger, Triggers
from acl.platform.stored_json import StoredJSONField

# Icons of integrations and listings: where they are declared, and the picture that was drawn.


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


# Integrations: providers of capabilities.

# Columns that the rights read, and those that say what can be called (`obstacles`, `own_values`).
_DECIDING = ("enabled", "state", "restricted", "owner_id", "kind", "transport", "slug")
_NEEDED_TO_CALL = (
    *("connection", "problem", "unconfirmed", "required_secrets", "own_secrets"),
    *("endpoint", "command", "package", "source_ref", "transport"),
)


class ReviewState(models.TextChoices):
    """The review state: only approved entries can be used; quarantined ones await a review."""

    PENDING = "pending", gettext_lazy("Pending")
    APPROVED = "approved", gettext_lazy("Approved")
    QUARANTINED = "quarantined", gettext_lazy("Quarantined")


class Integration(models.Model):
    """A provider of capabilities: a server, a skill, a channel, something built in …"""

    triggers: ClassVar[Triggers] = (
        # Counts the change in `CatalogVersion`: capabilities are listed under both.
        DatabaseTrigger(
            "catalog_integration_changed",
            "AFTER UPDATE OF slug, title",
            "STATEMENT",
            "catalog_count_change",
        ),
        # Gives limits back that outlived an integration of this slug (`0033_kept_limits`).
        DatabaseTrigger(
            "catalog_integration_limits", "AFTER INSERT", "ROW", "catalog_return_limits"
        ),
        *counted_columns("catalog_integration", RightsChange.Concern.EVERYONE, _DECIDING),
        *counted_columns("catalog_integration", RightsChange.Concern.READINESS, _NEEDED_TO_CALL),
        *kept_periods("catalog_integration", [*_DECIDING, "requestable", "title"]),
    )

    class Kind(models.TextChoices):
        MCP = "mcp", gettext_lazy("MCP server")
        OPENAPI = "openapi", gettext_lazy("HTTP API")
        SKILL = "skill", gettext_lazy("Skill")
        EXTENSION = "extension", gettext_lazy("Extension")
        CHANNEL = "channel", gettext_lazy("Channel")
        VOICE = "voice", gettext_lazy("Voice")
        MANIFEST = "manifest", gettext_lazy("Manifest")
        BUILTIN = "builtin", gettext_lazy("Built-in")
        CATALOG = "catalog", gettext_lazy("Imported catalogue")

    # Their capabilities are called by Pegboard itself, where they are.
    CALLED = (Kind.MCP, Kind.OPENAPI)

    class Network(models.TextChoices):
        LISTED = "listed", gettext_lazy("Listed hosts only")
        ALL = "all", gettext_lazy("The whole network")

    class RegistryStatus(models.TextChoices):
        DRAFT = "draft", "draft"
        ACTIVE = "active", "active"
        DEPRECATED = "deprecated", "deprecated"

    class Connection(models.TextChoices):
        NOT_NEEDED = "not_needed", "needs none"
        DISCONNECTED = "disconnected"
        CONNECTED = "connected"
        FAILING = "failing"

    slug = models.CharField(
        max_length=48, unique=True, validators=[RegexValidator(r"^[a-z0-9][a-z0-9_-]*$")]
    )
    kind = models.CharField(max_length=12, choices=Kind.choices)
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    publisher = models.CharField(max_length=200, blank=True)
    version = models.CharField(max_length=80, blank=True)
    licence = models.CharField(max_length=80, blank=True)
    homepage = models.CharField(max_length=500, blank=True)
    listing = models.CharField(max_length=200, blank=True, help_text="The listing it came from.")
    transport = models.CharField(
        max_length=8,
        blank=True,
        choices=[("stdio", "stdio"), ("http", "HTTP"), ("sse", "SSE"), ("openapi", "OpenAPI")],
    )
    endpoint = models.CharField(max_length=500, blank=True)
    command = ArrayField(models.CharField(max_length=500), default=list, blank=True)
    required_secrets = ArrayField(models.CharField(max_length=120), default=list, blank=True)
    own_secrets = models.BooleanField(
        default=False, help_text="People may use secrets and accounts of their own."
    )
    source_ref = StoredJSONField(default=dict, blank=True)
    command_digest = models.CharField(
        max_length=64, blank=True, help_text="Of the command that was confirmed; no other starts."
    )
    came_from = models.CharField(
        max_length=500,
        blank=True,
        help_text="The source that declared it first; another one cannot change it.",
    )
    unconfirmed = models.BooleanField(
        default=False,
        help_text="Imported: nothing is sent to it or started before an admin confirms it.",
    )
    package = StoredJSONField(
        default=dict,
        blank=True,
        help_text="Where its package is, how it is started from there, and of which files it is.",
    )
    network = models.CharField(
        max_length=8,
        choices=Network.choices,
        default=Network.LISTED,
        db_default=Network.LISTED,
        help_text="What its program may reach from its cell.",
    )
    allowed_hosts = ArrayField(
        models.CharField(max_length=260),
        default=list,
        db_default=[],
        blank=True,
        help_text="Hosts that its program may reach, as api.example.com or *.example.com:8443.",
    )
    announces = ArrayField(
        models.CharField(max_length=24),
        default=list,
        db_default=[],
        blank=True,
        editable=False,
        help_text="What its server announced beside tools at its last check, such as resources.",
    )
    list_defects = StoredJSONField(
        default=list,
        db_default=models.Value([], models.JSONField()),  # for the previous version, as below
        blank=True,
        editable=False,
        help_text="What could not be read of its server's list: tool, field and reason of each.",
    )
    icon = models.ForeignKey(
        IconSource, models.SET_NULL, null=True, blank=True, related_name="integrations"
    )
    enabled = models.BooleanField(default=True)
    state = models.CharField(
        max_length=12, choices=ReviewState.choices, default=ReviewState.APPROVED
    )
    restricted = models.BooleanField(
        default=False, help_text="Never part of what open groups may use by default."
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        blank=True,
        editable=False,
        related_name="own_servers",
        help_text="Whose own server it is: nobody else may use it or learn of it, except admins.",
    )
    requestable = models.BooleanField(
        default=False,
        db_default=False,  # during an upgrade, the previous version still inserts rows
        help_text="Everyone may see its name and those of its tools where nothing else fits, "
        "and ask for them.",
    )
    application_executes = models.BooleanField(
        default=False,
        db_default=False,  # during an upgrade, the previous version still inserts rows
        help_text="An admin says that the chat application carries out these calls.",
    )
    registry_status = models.CharField(
        max_length=10,
        choices=RegistryStatus.choices,
        default=RegistryStatus.ACTIVE,
        db_default=RegistryStatus.ACTIVE,
        help_text="In the registry that Pegboard serves; a draft is not listed there.",
    )
    connection = models.CharField(
        max_length=12, choices=Connection.choices, default=Connection.NOT_NEEDED
    )
    health = models.CharField(max_length=500, blank=True, help_text="The last problem, in words.")
    health_checked_at = models.DateTimeField(null=True, blank=True)
    problem = models.CharField(
        max_length=24,
        blank=True,
        default="",
        db_default="",  # during an upgrade, the previous version still inserts rows
        help_text="Code of the last problem.",
    )
    failing_since = models.DateTimeField(null=True, blank=True)
    failures = models.PositiveIntegerField(
        default=0,
        db_default=0,  # for the previous version, as above
        editable=False,
        help_text="Failed checks and calls in a row.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["slug"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(owner=None) | models.Q(restricted=True, requestable=False),
                name="own_server_is_for_its_owner",
            )
        ]
        permissions = [("use_integration", "Can use the integration's capabilities")]

    def __str__(self) -> str:
        return self.slug

    @property
    def takes_accounts(self) -> bool:
        """Return True if people could sign in at its server."""
        at_api = self.transport == "openapi" and any(
            "grant" not in sign_in for sign_in in self._sign_ins
        )
        return at_api or self.transport in ("http", "sse")

    @property
    def takes_client(self) -> bool:
        """Return True if an admin may set Pegboard's client at its authorization server."""
        return self.takes_accounts or (self.transport == "openapi" and bool(self._sign_ins))

    @property
    def _sign_ins(self) -> list[dict[str, object]]:
        """Return the sign-ins of its document's security schemes."""
        stored = self.source_ref.get("security")
        schemes = stored.values() if isinstance(stored, dict) else ()
        sign_ins = (item.get("sign_in") for item in schemes if isinstance(item, dict))
        return [item for item in sign_ins if isinstance(item, dict)]


# Health history of servers.


class HealthCheck(models.Model):
    """A check of a server, or a failed call. Only the newest of each integration are kept."""

    integration = models.ForeignKey(Integration, models.CASCADE, related_name="checks")
    checked_at = models.DateTimeField(auto_now_add=True)
    reason = models.CharField(max_length=24, blank=True, help_text="Empty where all was well.")
    last_words = models.TextField(blank=True, help_text="What the server said last, cleaned.")
    milliseconds = models.PositiveIntegerField(null=True, blank=True)
    tools = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["-checked_at", "-pk"]
        indexes = [models.Index(fields=["integration", "-id"], name="newest_checks")]

    def __str__(self) -> str:
        return self.reason or "well"


# History of definition syncs.


class Sync(models.Model):
    """A sync of a server's definitions. Of equal ones in a row, only the last is kept."""

    class Cause(models.TextChoices):
        SCHEDULE = "schedule"
        ANNOUNCED = "announced", "the server said so"
        PERSON = "person", "asked for"
        CALL = "call", "before a call"

    integration = models.ForeignKey(Integration, models.CASCADE, related_name="syncs")
    cause = models.CharField(max_length=9, choices=Cause.choices)
    synced_at = models.DateTimeField(auto_now_add=True)
    new = StoredJSONField(default=list, blank=True)
    changed = StoredJSONField(default=list, blank=True)
    gone = StoredJSONField(default=list, blank=True)
    returned = StoredJSONField(default=list, blank=True)
    unreadable = models.PositiveIntegerField(default=0)
    reason = models.CharField(max_length=32, blank=True, help_text="Empty where it could be read.")

    class Meta:
        ordering = ["-synced_at", "-pk"]
        indexes = [models.Index(fields=["integration", "-id"], name="newest_syncs")]

    def __str__(self) -> str:
        return f"{self.integration} {self.reason or 'read'}"

    @property
    def found_something(self) -> bool:
        """Return True if any definition differed."""
        return bool(self.new or self.changed or self.gone or self.returned)


# Hosts of one's own network that admins allowed from a page.


class PrivateHost(models.Model):
    """A host and port of one's own network, open to Pegboard also without TLS."""

    host = models.CharField(max_length=253)
    port = models.PositiveIntegerField()
    by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["host", "port"]
        constraints = [
            models.UniqueConstraint(fields=["host", "port"], name="private_host_once"),
            models.CheckConstraint(
                condition=models.Q(port__range=(1, 65_535)), name="private_host_port"
            ),
        ]

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


# Hosts that a program tried to reach from its cell.


class OutgoingHost(models.Model):
    """Attempts of a program to reach one host and port, with the outcome of the last."""

    integration = models.ForeignKey(
        "catalog.Integration", on_delete=models.CASCADE, related_name="outgoing_hosts"
    )
    host = models.CharField(max_length=260, help_text="As a rule: a name, and a port but 443.")
    allowed = models.BooleanField()
    times = models.PositiveBigIntegerField(default=0)
    last_at = models.DateTimeField()

    class Meta:
        ordering = ["-last_at", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["integration", "host"], name="outgoing_host_once")
        ]

    def __str__(self) -> str:
        return self.host
