"""Manifests in the watched folders, and what became of each."""

from django.db import models

from catalog.models.capability import Capability


class ManifestFile(models.Model):
    """A CAPABILITY.yaml as it was last read: what it provides, and what is wrong with it.

    Without a capability it provides nothing: it is broken and always was, or another one goes
    first. With both a capability and problems, the capability may be that of the last good state.
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
