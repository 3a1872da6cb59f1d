"""Beats: how far a read replica has come, in numbers that web processes count up."""

from django.db import models


class ReplicaBeat(models.Model):
    """The latest beat of a process (`acl/platform/read_replica.py`).

    The process wrote it on the primary, so a replica that shows it also shows all that was
    committed before.
    """

    process = models.UUIDField(primary_key=True)
    number = models.BigIntegerField()
    beaten_at = models.DateTimeField(help_text="By the primary's clock.")

    class Meta:
        default_permissions = ()
        ordering = ["-beaten_at", "pk"]

    def __str__(self) -> str:
        return f"{self.process}: {self.number}"
