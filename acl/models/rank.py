"""Ranks of people and credentials, from the least power to the most."""

from django.contrib.auth.models import AbstractUser
from django.db import models


class Rank(models.IntegerChoices):
    """Ranks. A credential keeps its rank: a promotion of its owner does not raise it."""

    MEMBER = 0, "member"
    STAFF = 1, "admin"
    SUPERUSER = 2, "superuser"


def rank_of(person: AbstractUser) -> Rank:
    """Return the person's rank now. Without the staff flag even a superuser administers nothing,
    which is Django's own rule for its admin."""
    if not (person.is_active and person.is_staff):
        return Rank.MEMBER
    return Rank.SUPERUSER if person.is_superuser else Rank.STAFF
