"""Languages of people: what their notifications and mails are written in."""

from django.conf import settings
from django.db import models
from django.db.models import Q


class PersonLanguage(models.Model):
    """The language of a person, and who said so: a choice of their own counts most."""

    class Origin(models.TextChoices):
        BROWSER = "browser"
        PROVIDER = "provider", "identity provider"
        PERSON = "person"

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="language")
    code = models.CharField(max_length=40, help_text="A tag such as de or de-AT, as it was said.")
    origin = models.CharField(max_length=8, choices=Origin.choices)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(condition=~Q(code=""), name="acl_personlanguage_has_code")
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.code}"
