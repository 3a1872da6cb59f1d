"""Models of listings and their versions."""

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, RegexValidator
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Func, Q
from django.utils.translation import gettext_lazy as _
from pgvector.django import BitField, HalfVectorField, SparseVectorField

from acl.platform.jobs import JobRow
from acl.platform.migration_operations import DatabaseTrigger, Triggers
from acl.platform.stored_json import StoredJSONField
from catalog.formats.secret_redaction import word_address
from catalog.models import EmbeddingModel, IconSource

# Model of the sources of listings.


class Source(JobRow):
    """A source of listings. Workers read it; the web only queues it."""

    # Kinds that are there by themselves; the others are added by admins.
    STARTER, IMPORT, BY_HAND = BUILT_IN = ("starter", "import", "added")

    class State(models.TextChoices):
        NEW = "new", _("never read")
        QUEUED = "queued", _("waits for a worker")
        REFRESHING = "refreshing", _("is being read")
        READY = "ready", _("Ready")
        FAILED = "failed", _("Failed")

    UNDER_WAY = (State.QUEUED, State.REFRESHING)

    slug = models.CharField(
        max_length=48, unique=True, validators=[RegexValidator(r"^[a-z0-9][a-z0-9_-]*$")]
    )
    title = models.CharField(max_length=200)
    kind = models.CharField(max_length=20, help_text="A module of `offers/kinds`.")
    location = models.CharField(
        max_length=500, blank=True, help_text="An https address, or a path on this machine."
    )
    enabled = models.BooleanField(default=True)
    schedule_hours = models.PositiveSmallIntegerField(
        default=24, validators=[MaxValueValidator(8_760)], help_text="0: only by hand."
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.NEW)
    run = models.PositiveIntegerField(default=0, help_text="How often it was begun to be read.")
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(null=True, blank=True)
    reason = models.CharField(max_length=32, blank=True, help_text="Why it failed, for machines.")
    message = models.TextField(blank=True, help_text="How it stands, in words.")
    report = StoredJSONField(default=dict, blank=True, help_text="What the last reading found.")
    etag = models.CharField(max_length=200, blank=True)
    last_modified = models.CharField(max_length=80, blank=True)
    tried_at = models.DateTimeField(null=True, blank=True)
    refreshed_at = models.DateTimeField(null=True, blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["title", "pk"]

    def __str__(self) -> str:
        return self.title

    @property
    def worded_location(self) -> str:
        """Return the location as anybody may read it."""
        return word_address(self.location)

    @property
    def is_local(self) -> bool:
        """True for a folder or file on this machine."""
        return self.location.startswith("/")

    @property
    def is_added(self) -> bool:
        """True if an admin added it, and may change or remove it."""
        return self.kind not in self.BUILT_IN

    @property
    def is_refreshable(self) -> bool:
        """True if a worker can read it again; the others are as commands and admins left them."""
        return self.kind not in (self.IMPORT, self.BY_HAND)

    @property
    def is_under_way(self) -> bool:
        """True if it is being read, or queued."""
        return self.state in self.UNDER_WAY


class Listing(models.Model):
    """An installable integration, as its source describes it.

    Its columns come from the latest version. Installed ones refer to it by `Integration.listing`.
    """

    class Review(models.TextChoices):
        UNSCANNED = "unscanned"
        CLEAR = "clear"
        HELD = "held"
        APPROVED = "approved"
        REJECTED = "rejected", "kept hidden"

    triggers: ClassVar[Triggers] = (
        # Texts that are changed without a new digest count as unscanned (`0012_listing_review`).
        DatabaseTrigger(
            "marketplace_listing_scanned",
            "BEFORE UPDATE OF slug, title, description, publisher, licence, homepage, repository,"
            " category, tags, readme, tools, needs",
            "ROW",
            "marketplace_unscan_listing",
        ),
    )

    # Anything else is there for admins only.
    PASSED = (Review.CLEAR, Review.APPROVED)

    slug = models.CharField(max_length=200, unique=True)
    source = models.ForeignKey(Source, models.SET_NULL, null=True, related_name="listings")
    key = models.CharField(max_length=300, help_text="What the source calls it.")
    kind = models.CharField(max_length=12, db_index=True)
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    publisher = models.CharField(max_length=200, blank=True, db_index=True)
    licence = models.CharField(max_length=80, blank=True)
    homepage = models.CharField(max_length=500, blank=True)
    repository = models.CharField(max_length=500, blank=True)
    version = models.CharField(max_length=80, blank=True)
    transport = models.CharField(max_length=8, blank=True)
    endpoint = models.CharField(max_length=500, blank=True)
    command = ArrayField(models.CharField(max_length=500), default=list, blank=True)
    required_secrets = ArrayField(models.CharField(max_length=120), default=list, blank=True)
    category = models.CharField(max_length=60, blank=True, db_index=True)
    tags = ArrayField(models.CharField(max_length=60), default=list, blank=True)
    readme = models.TextField(blank=True, help_text="Markdown, as the source gives it.")
    tools = StoredJSONField(
        default=list, blank=True, help_text="Known beforehand: name, title, description of each."
    )
    needs = StoredJSONField(
        default=dict, blank=True, help_text="Variables, program and hosts that it needs."
    )
    details = StoredJSONField(default=dict, blank=True)
    icon = models.ForeignKey(
        IconSource, models.SET_NULL, null=True, blank=True, related_name="listings"
    )
    review = models.CharField(
        max_length=9,
        choices=Review.choices,
        default=Review.UNSCANNED,
        help_text="Only what is clear or approved is there for others than admins.",
    )
    findings = StoredJSONField(
        default=list, blank=True, help_text="What the scanner noticed in its texts."
    )
    texts_digest = models.CharField(
        max_length=64, blank=True, help_text="Of the texts that were scanned."
    )
    run = models.PositiveIntegerField(default=0, help_text="The reading that last saw it.")
    vanished_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when its source no longer offers it."
    )
    published_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["title", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["source", "key"], name="one_listing_of_a_key"),
        ]
        indexes = [
            # Pages and counts of the marketplace are read from it alone.
            models.Index(
                fields=["title", "id"],
                include=["kind", "category", "source", "slug", "review"],
                condition=models.Q(vanished_at=None),
                name="listing_offered",
            ),
            # The few that searches leave out for everyone.
            models.Index(
                fields=["id"], condition=~models.Q(vanished_at=None), name="listing_vanished"
            ),
            # The few that wait for the scanner or for an admin.
            models.Index(
                fields=["review", "id"],
                condition=~models.Q(review__in=("clear", "approved")),
                name="listing_not_passed",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def is_held(self) -> bool:
        """True if nobody but admins may read it."""
        return self.review not in self.PASSED

    @property
    def is_described_only(self) -> bool:
        """True if nothing of it runs here: neither a server nor a skill."""
        return not self.transport and self.kind != "skill"


class ListingVersion(models.Model):
    """A version of a listing, with everything needed to install it."""

    class Status(models.TextChoices):
        ACTIVE = "active", _("Active")
        DEPRECATED = "deprecated", _("Deprecated")
        DELETED = "deleted", _("Deleted")

    listing = models.ForeignKey(Listing, models.CASCADE, related_name="versions")
    version = models.CharField(max_length=80, blank=True)
    descriptor = StoredJSONField(help_text="The fields of an IntegrationDescriptor.")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.ACTIVE)
    is_latest = models.BooleanField(default=False)
    published_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-is_latest", "-published_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["listing", "version"], name="one_row_of_a_version"),
        ]

    def __str__(self) -> str:
        return f"{self.listing} {self.version}".strip()


class ListingFile(models.Model):
    """A file of a skill's folder. It is never executed."""

    listing = models.ForeignKey(Listing, models.CASCADE, related_name="files")
    path = models.CharField(max_length=300, help_text="Within the folder, with /.")
    content = models.BinaryField()

    class Meta:
        ordering = ["path", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["listing", "path"], name="one_file_of_a_path"),
        ]

    def __str__(self) -> str:
        return self.path


# Search data of listings: words, and vectors that a worker adds later.
# A `ListingVector` row is also a job, like `Embedding` for a capability: it is pending while
# `vector_hash` differs from `text_hash`.


class ListingWords(models.Model):
    """The document side of BM25 for one listing; see `catalog.lexical`."""

    listing = models.OneToOneField(Listing, models.CASCADE, primary_key=True, related_name="words")
    terms = SparseVectorField(dimensions=2**18)  # of catalog.lexical; a test compares them
    of = models.DateTimeField(help_text="The listing's `updated_at` when it was read.")

    def __str__(self) -> str:
        return str(self.listing_id)


class SignsField(BitField):
    """A bit string with the length of the vector, which differs between models."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "bit varying"


class ListingVector(models.Model):
    """A listing's vector by one model, or the pending job for it."""

    listing = models.ForeignKey(Listing, models.CASCADE, related_name="vectors")
    model = models.ForeignKey(EmbeddingModel, models.CASCADE, related_name="+")
    text_hash = models.CharField(max_length=64, help_text="Of the text as it is now.")
    # Half as long as a capability's, and read in a third of the time: nothing ranks closely here.
    vector = HalfVectorField(null=True)
    # A search compares these first: a bit for each number, read from an index.
    signs = models.GeneratedField(
        expression=Func(F("vector"), function="binary_quantize"),
        output_field=SignsField(),
        db_persist=True,
    )
    vector_hash = models.CharField(max_length=64, blank=True, help_text="Of the text embedded.")
    attempts = models.PositiveSmallIntegerField(default=0)
    failure = models.CharField(max_length=300, blank=True)
    sent_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["listing", "model"], name="one_vector_of_a_listing"),
        ]
        indexes = [
            models.Index(
                fields=["sent_at"],
                condition=~Q(vector_hash=F("text_hash")),
                name="listing_vector_pending",
            ),
            models.Index(
                fields=["model", "listing"],
                include=["signs"],
                condition=Q(vector__isnull=False),
                name="listing_vector_signs",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.listing_id} by {self.model_id}"
