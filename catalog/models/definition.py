"""Definitions under review: the approved text and the proposed one."""

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from acl.platform.stored_json import StoredJSONField
from catalog.models.integration import Integration


class Definition(models.Model):
    """The definition of a capability, or, without a name, of the integration itself.

    Both texts are JSON in the order of the source; their digests are of canonical JSON. Servers'
    tools are stored exactly as listed, other origins as descriptors. `Capability` holds the
    cleaned form of the approved text only.
    """

    class Standing(models.TextChoices):
        APPROVED = "approved"
        NEW = "new"
        CHANGED = "changed"
        RETURNED = "returned", "as it was approved again"
        GONE = "gone"
        REJECTED = "rejected"

    class Origin(models.TextChoices):
        SERVER = "server", gettext_lazy("its server")
        IMPORT = "import", gettext_lazy("an import")
        MANIFEST = "manifest", gettext_lazy("a watched folder")
        STARTER = "starter", gettext_lazy("the starter collection")
        LISTING = "listing", gettext_lazy("a listing of the marketplace")
        RUNTIME = "runtime", gettext_lazy("the API")
        EDIT = "edit", gettext_lazy("an admin's edit")

    # States that need a review. A GONE definition needs none: it cannot be called.
    WAITING = (Standing.NEW, Standing.CHANGED, Standing.RETURNED)

    integration = models.ForeignKey(Integration, models.CASCADE, related_name="definitions")
    name = models.CharField(
        max_length=200, blank=True, help_text="As its server wants to hear it; empty for itself."
    )
    origin = models.CharField(max_length=8, choices=Origin.choices, default=Origin.SERVER)
    source = models.CharField(max_length=500, blank=True, help_text="The file it was read from.")
    standing = models.CharField(max_length=8, choices=Standing.choices)
    approved = models.TextField(blank=True)
    approved_hash = models.CharField(max_length=64, blank=True)
    approved_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    approved_at = models.DateTimeField(null=True, blank=True)
    proposed = models.TextField(blank=True)
    proposed_hash = models.CharField(max_length=64, blank=True)
    findings = StoredJSONField(default=list, blank=True)
    problem = models.CharField(max_length=500, blank=True, help_text="Why it cannot be stored.")
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["integration", "name"], name="one_definition_each"),
            models.CheckConstraint(
                condition=~Q(standing="approved") | (~Q(approved_hash="") & Q(proposed="")),
                name="approved_is_pinned",
            ),
            models.CheckConstraint(
                condition=~Q(standing__in=("new", "changed")) | ~Q(proposed=""),
                name="waiting_has_a_text",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.standing}"
