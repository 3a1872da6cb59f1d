"""Manifests in the watched folders."""

from django.db import models

from catalog.models.capability import Capability


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
