"""Model of the sources of listings."""

from django.conf import settings
from django.core.validators import MaxValueValidator, RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from acl.platform.jobs.rows import JobRow
from acl.platform.stored_json import StoredJSONField
from catalog.formats.secret_redaction import word_address


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
