"""Looks: someone has looked at what another person may use."""

from django.db import models


class Look(models.Model):
    """A recorded look: one for each viewer, subject, kind and hour.

    The constraint lets one of many requests at once write the entry. Rows are of no use after their
    hour, and the next look removes them.
    """

    viewer_id = models.BigIntegerField()
    subject_id = models.BigIntegerField()
    kind = models.CharField(max_length=60)
    hour = models.DateTimeField()

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["viewer_id", "subject_id", "kind", "hour"], name="acl_look_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.viewer_id} {self.subject_id} {self.kind}"
