"""OpenAPI documents as they were added: what an admin was shown, and what is installed."""

import hashlib
import uuid
import zlib
from typing import Self

from django.contrib.auth.models import User
from django.db import models

from acl.platform.stored_json import StoredJSONField
from catalog.models.integration import Integration


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
        return self.address or str(self.public_id)

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
    named = str(integration.source_ref.get("document") or "")
    try:
        public_id = uuid.UUID(named)
    except ValueError:
        return None
    return ApiDocument.objects.filter(public_id=public_id).first()
