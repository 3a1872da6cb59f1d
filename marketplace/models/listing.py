"""Something that the marketplace offers."""

from django.contrib.postgres.fields import ArrayField
from django.db import models


class Listing(models.Model):
    """An integration that could be installed, as its source describes it."""

    slug = models.CharField(max_length=200, unique=True)
    source = models.CharField(max_length=60, help_text="Where it was read, such as `starter`.")
    kind = models.CharField(max_length=12)
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    publisher = models.CharField(max_length=200, blank=True)
    licence = models.CharField(max_length=80, blank=True)
    homepage = models.CharField(max_length=500, blank=True)
    version = models.CharField(max_length=80, blank=True)
    transport = models.CharField(max_length=8, blank=True)
    endpoint = models.CharField(max_length=500, blank=True)
    command = ArrayField(models.CharField(max_length=500), default=list, blank=True)
    required_secrets = ArrayField(models.CharField(max_length=120), default=list, blank=True)
    details = models.JSONField(default=dict, blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["title", "pk"]

    def __str__(self) -> str:
        return self.title
