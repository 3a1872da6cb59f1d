"""Records of SCIM clients: their own id of a person or a group."""

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q


class ScimRecord(models.Model):
    """The client's own id of a person or a group, and the last change by SCIM."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="scim"
    )
    group = models.OneToOneField(Group, models.CASCADE, null=True, blank=True, related_name="scim")
    external_id = models.CharField(max_length=200, blank=True, db_index=True)
    created_at = models.DateTimeField(auto_now_add=True)
    modified_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(
        null=True, blank=True, help_text="A client deleted the person: SCIM no longer shows them."
    )

    class Meta:
        verbose_name = "SCIM record"
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(user__isnull=True) ^ Q(group__isnull=True),
                name="acl_scimrecord_one_subject",
            )
        ]

    def __str__(self) -> str:
        return f"{self.user or self.group}"
