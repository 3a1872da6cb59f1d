"""Presets: capabilities used together."""

from django.db import models

from catalog.models.capability import Capability


class Preset(models.Model):
    """A named set of capabilities; every pair of them is related."""

    name = models.CharField(max_length=120, unique=True)
    description = models.CharField(max_length=500, blank=True)
    capabilities = models.ManyToManyField(
        Capability, through="PresetMember", related_name="presets"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class PresetMember(models.Model):
    """A capability of a preset."""

    preset = models.ForeignKey(Preset, models.CASCADE, related_name="members", db_index=False)
    capability = models.ForeignKey(Capability, models.CASCADE, related_name="memberships")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["preset", "capability"], name="catalog_preset_member_once"
            ),
        ]

    def __str__(self) -> str:
        return str(self.capability)
