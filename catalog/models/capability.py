"""Capabilities: the entries of the catalogue."""

from collections.abc import Sequence
from typing import ClassVar, Self

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Now

from acl.models import ApiKey
from acl.models.rights_change import kept_periods
from acl.platform.migration_operations import DatabaseTrigger, Triggers
from acl.platform.stored_json import OrderedJSONField, StoredJSONField, is_storable_as_jsonb
from catalog.models.integration import Integration, ReviewState
from catalog.querysets import CapabilityQuerySet

# What rights and explanations read of a capability.
_KEPT = (
    *("integration_id", "full_name", "kind", "action", "display_name", "state", "available"),
    *("unavailable_reason", "ai_access"),
)


class Capability(models.Model):
    """A tool, skill, extension, channel, voice provider or emergent tool that models can call."""

    triggers: ClassVar[Triggers] = (
        # Counts the change in `CatalogVersion`, in the same transaction (`0002_count_changes`).
        DatabaseTrigger(
            "catalog_capability_changed",
            "AFTER INSERT OR DELETE OR UPDATE",
            "STATEMENT",
            "catalog_count_change",
        ),
        # Quarantines what has not passed the gate (`0013_gate`, `0016_gate_for_new_rows`).
        DatabaseTrigger(
            "catalog_capability_reviewed",
            "BEFORE INSERT OR UPDATE",
            "ROW",
            "catalog_keep_reviewed",
        ),
        # Gives limits back that outlived a capability of this name (`0033_kept_limits`).
        DatabaseTrigger(
            "catalog_capability_limits", "AFTER INSERT", "ROW", "catalog_return_limits"
        ),
        *kept_periods("catalog_capability", _KEPT),
    )

    class Kind(models.TextChoices):
        TOOL = "tool"
        SKILL = "skill"
        EXTENSION = "extension"
        CHANNEL = "channel"
        VOICE = "voice"
        EMERGENT_TOOL = "emergent-tool", "Emergent tool"

    class SideEffect(models.TextChoices):
        READ = "read"
        WRITE = "write"
        DELETE = "delete"
        UNKNOWN = "unknown"

    class AIAccess(models.TextChoices):
        EXECUTE = "execute"
        PROPOSE = "propose"
        APP = "app", "Only its server's app"
        BLOCKED = "blocked"

    # Not an admin's decision.
    OF_SOURCES = (AIAccess.EXECUTE, AIAccess.APP)

    integration = models.ForeignKey(
        Integration, models.CASCADE, related_name="capabilities", db_index=False
    )
    identifier = models.CharField(max_length=200, unique=True)
    full_name = models.CharField(
        max_length=64, unique=True, validators=[RegexValidator(r"^[a-zA-Z0-9_-]{1,64}$")]
    )
    kind = models.CharField(max_length=16, choices=Kind.choices)
    action = models.CharField(max_length=200)
    display_name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    category = models.CharField(max_length=60, db_index=True)
    category_inferred = models.BooleanField(
        default=False, help_text="Worked out from name and description, not declared."
    )
    tags = ArrayField(models.CharField(max_length=60), default=list, blank=True)
    input_schema = OrderedJSONField(null=True, blank=True)
    output_schema = OrderedJSONField(null=True, blank=True)
    content = models.TextField(blank=True, help_text="A skill's Markdown.")
    examples = StoredJSONField(default=list, blank=True)
    example_requests = StoredJSONField(
        default=dict,
        db_default={},  # during an upgrade, the previous version still inserts rows
        blank=True,
        editable=False,
        help_text="What people might write for it, by an admin or a chat model, with its origin.",
    )
    required_secrets = ArrayField(models.CharField(max_length=120), default=list, blank=True)
    required_tools = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    declared_edges = StoredJSONField(default=list, blank=True)
    annotations = StoredJSONField(default=dict, blank=True)
    parameters_summary = models.CharField(max_length=500, blank=True)
    side_effect = models.CharField(
        max_length=8,
        choices=SideEffect.choices,
        default=SideEffect.READ,
        help_text="Unknown counts as a write.",
    )
    declared_effect = models.CharField(
        max_length=8, blank=True, editable=False, help_text="As its source declares it, if it does."
    )
    effect_confidence = models.FloatField(default=0.0, help_text="From 0 to 1.")
    effect_evidence = StoredJSONField(
        default=dict, blank=True, help_text="Reasons for the side effect and for each flag."
    )
    effect_flags = ArrayField(
        models.CharField(max_length=24),
        default=list,
        blank=True,
        help_text="Any of reaches_outside, returns_foreign_text and reads_private_data.",
    )
    ai_access = models.CharField(max_length=8, choices=AIAccess.choices, default=AIAccess.EXECUTE)
    available = models.BooleanField(default=True)
    unavailable_reason = models.CharField(max_length=300, blank=True)
    state = models.CharField(
        max_length=12, choices=ReviewState.choices, default=ReviewState.APPROVED
    )
    core = models.BooleanField(default=False, help_text="Competes for the places kept for core.")
    pinned = models.BooleanField(default=False, help_text="Part of every selection.")
    source_ref = StoredJSONField(default=dict, blank=True)
    source_texts = StoredJSONField(
        default=dict,
        db_default={},  # during an upgrade, the previous version still inserts rows
        blank=True,
        editable=False,
        help_text="The source's own words where an admin wrote others, by column.",
    )
    hidden_characters = models.PositiveIntegerField(default=0)
    definition_hash = models.CharField(max_length=64)
    reviewed = models.CharField(
        max_length=64,
        blank=True,
        editable=False,
        help_text="Digest of the texts that passed the gate; set by the database.",
    )
    fingerprint = models.CharField(
        max_length=64, help_text="Equal where the definition is the same on another integration."
    )
    tokens = models.PositiveIntegerField(default=0, help_text="Estimate for the full definition.")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = CapabilityQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "capabilities"
        ordering = ["full_name"]
        permissions = [("use_capability", "Can use the capability")]
        constraints = [
            is_storable_as_jsonb("input_schema", name="input_schema_is_plain"),
            is_storable_as_jsonb("output_schema", name="output_schema_is_plain"),
        ]
        indexes = [
            models.Index(
                fields=["id"], condition=Q(core=True) | Q(pinned=True), name="catalog_always"
            ),
            # A covering index: rights queries read no page of the wide table.
            models.Index(
                fields=["integration"],
                include=[
                    "id",
                    "tokens",
                    "ai_access",
                    "state",
                    "available",
                    "core",
                    "pinned",
                    "kind",
                ],
                name="catalog_rights",
            ),
        ]

    def __str__(self) -> str:
        return self.full_name

    @property
    def tool_name(self) -> str:
        """Return its name within its integration: the admin's, else its server's."""
        renamed = "full_name" in self.source_texts
        return self.full_name.partition("__")[2] if renamed else self.action

    @property
    def request_texts(self) -> Sequence[str]:
        """Return its example requests. They are not its source's words, and never shown as such."""
        return self.example_requests.get("texts", ()) if settings.PEGBOARD_EXAMPLE_REQUESTS else ()

    @property
    def source_full_name(self) -> str:
        """Return the full name by its source's own words."""
        return str(self.source_texts.get("full_name", self.full_name))

    @property
    def has_side_effects(self) -> bool:
        """Return True if calling it changes anything."""
        return self.side_effect != self.SideEffect.READ


# Capabilities that hosts and agents make at runtime.


class RuntimeCapabilityQuerySet(models.QuerySet["RuntimeCapability"]):
    """Queries for runtime capabilities."""

    def with_status(self) -> Self:
        """Annotate `status`: the state, or `expired` where the time was over before anything else
        ended it, whether a sweep has come or not."""
        retired = Q(state="retired")
        over = (~retired & Q(expires_at__lte=Now())) | (
            retired & Q(expires_at__lte=F("changed_at"))
        )
        return self.annotate(status=Case(When(over, then=Value("expired")), default=F("state")))


class RuntimeCapability(models.Model):
    """The life cycle of a capability made by API; the definition itself is in `Capability`.

    A definition that is held for review has no `Capability` yet, so the name links the two.
    """

    triggers: ClassVar[Triggers] = kept_periods(
        "catalog_runtimecapability", ["full_name", "state", "expires_at"]
    )

    class State(models.TextChoices):
        PROPOSED = "proposed"
        TRIED = "tried"
        APPROVED = "approved"
        PROMOTED = "promoted"
        RETIRED = "retired"

    # Why the capability is not available.
    EXPIRED: ClassVar[str] = "It has expired."

    integration = models.ForeignKey(Integration, models.CASCADE, related_name="+")
    name = models.CharField(max_length=200, help_text="The action of the capability.")
    full_name = models.CharField(max_length=64, unique=True)
    group = models.ForeignKey(
        Group, models.CASCADE, related_name="+", help_text="The proposing group."
    )
    owner = models.ForeignKey(
        User, models.SET_NULL, null=True, related_name="+", help_text="Only they can change it."
    )
    key = models.ForeignKey(
        ApiKey, models.SET_NULL, null=True, related_name="+", help_text="The key it was made with."
    )
    state = models.CharField(max_length=8, choices=State.choices, default=State.PROPOSED)
    withdrawn = models.BooleanField(
        default=False, help_text="An admin retired it: its name is not given out again."
    )
    expires_at = models.DateTimeField(null=True, help_text="Empty once promoted.")
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    objects = RuntimeCapabilityQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "runtime capabilities"
        ordering = ["full_name"]
        constraints = [
            models.UniqueConstraint(fields=["integration", "name"], name="one_life_each"),
            models.CheckConstraint(
                condition=~Q(withdrawn=True) | Q(state="retired"), name="withdrawn_is_retired"
            ),
            models.CheckConstraint(
                condition=Q(state__in=("promoted", "retired")) | Q(expires_at__isnull=False),
                name="unpromoted_expires",
            ),
        ]
        indexes = [
            models.Index(
                fields=["expires_at"], condition=~Q(state="retired"), name="catalog_runtime_ends"
            )
        ]

    def __str__(self) -> str:
        return self.full_name
