"""Definitions under review: the approved text and the proposed one."""

import hashlib
import uuid
import zlib
from typing import Self

from django.contrib.auth.models import Group, User
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from acl.models import ChainColumns
from acl.platform.stored_json import StoredJSONField
from catalog.models.capability import Capability
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


# Manifests in the watched folders.


class ManifestFile(models.Model):
    """A CAPABILITY.yaml: the capability it provides and its defects when last read.

    Without a capability, it was always broken or another manifest has priority. With a capability
    and problems, the capability may be from its last valid state.
    """

    path = models.CharField(max_length=1000, unique=True)
    capability = models.OneToOneField(
        Capability, models.SET_NULL, null=True, blank=True, related_name="manifest"
    )
    problems = models.TextField(blank=True, help_text="One a line: the field and the reason.")
    changed_at = models.DateTimeField(auto_now=True, help_text="When any of this last changed.")

    class Meta:
        ordering = ["path"]

    def __str__(self) -> str:
        return self.path


# Servers proposed by people and their assistants.


class ServerProposal(ChainColumns):
    """An address, or something else that was pasted, for an admin to add or reject.

    Nothing is sent to it before, and it holds no secret.
    """

    class State(models.TextChoices):
        OPEN = "open"
        APPROVED = "approved"
        REJECTED = "rejected"

    name = models.CharField(max_length=100)
    endpoint = models.CharField(max_length=500, blank=True)
    wanted = models.TextField(
        blank=True,
        default="",
        db_default="",  # during an upgrade, the previous version still inserts rows
        help_text="What was pasted, if it is no address: a package, a command, a configuration.",
    )
    reason = models.CharField(max_length=500, blank=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    group = models.ForeignKey(Group, models.CASCADE, related_name="+")
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    note = models.CharField(max_length=500, blank=True)
    answered_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    answered_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["group", "endpoint", "wanted"],
                condition=Q(state="open"),
                name="one_open_proposal_each",
            )
        ]

    def __str__(self) -> str:
        return self.name


# OpenAPI documents as they were added: what an admin was shown, and what is installed.


class ApiDocument(models.Model):
    """A document, compressed. One with an address is fetched anew to compare it."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    address = models.CharField(
        max_length=500, blank=True, help_text="Where it was fetched; empty if it was given as text."
    )
    digest = models.CharField(max_length=64, help_text="Of its text.")
    content = models.BinaryField(help_text="Its text, compressed.")
    outline = StoredJSONField(
        default=list, blank=True, help_text="Its operations: name, method, path, summary, tags."
    )
    by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return str(self.public_id)  # its address may be a secret

    @classmethod
    def of(cls, text: str, *, address: str = "", by: User | None = None) -> Self:
        """Return an unsaved document with this text."""
        raw = text.encode(errors="replace")
        digest = hashlib.sha256(raw).hexdigest()
        return cls(address=address, digest=digest, content=zlib.compress(raw, 6), by=by)

    @property
    def text(self) -> str:
        """Return its text."""
        return zlib.decompress(bytes(self.content)).decode()


def find_document(integration: Integration) -> ApiDocument | None:
    """Return the document of an integration, by its `source_ref`."""
    reference = str(integration.source_ref.get("document") or "")
    try:
        public_id = uuid.UUID(reference)
    except ValueError:
        return None
    return ApiDocument.objects.filter(public_id=public_id).first()
