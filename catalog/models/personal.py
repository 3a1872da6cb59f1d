"""Notes and to-dos that built-in tools keep for a person; only that person's calls see them."""

import secrets
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

LONGEST_TITLE, LONGEST_NOTE = 300, 4_000


def new_key() -> str:
    """Return a short name of a row, unlike those of other people's rows."""
    return secrets.token_hex(4)


class _PersonalRow(models.Model):
    """A row of one person, deleted with them. `key` is its name in answers of tools."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, db_index=False, related_name="+"
    )
    key = models.CharField(max_length=8, default=new_key, editable=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        abstract = True
        ordering: ClassVar[list[str]] = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return self.key


class Memo(_PersonalRow):
    """A fact kept for a person between conversations."""

    class Kind(models.TextChoices):
        FACT = "fact"
        PREFERENCE = "preference"
        EVENT = "event"
        PERSON = "person"
        DECISION = "decision"

    text = models.CharField(max_length=LONGEST_NOTE)
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.FACT)
    expires_on = models.DateField(null=True, blank=True, help_text="The last day it matters.")

    class Meta(_PersonalRow.Meta):
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="memo_key_once")]


class Todo(_PersonalRow):
    """An entry of a person's to-do list."""

    class Status(models.TextChoices):
        OPEN = "open"
        IN_PROGRESS = "in_progress"
        BLOCKED = "blocked"
        DONE = "done"

    class Priority(models.TextChoices):
        LOW = "low"
        NORMAL = "normal"
        HIGH = "high"
        URGENT = "urgent"

    title = models.CharField(max_length=LONGEST_TITLE)
    notes = models.CharField(max_length=LONGEST_NOTE, blank=True)
    due = models.DateField(null=True, blank=True)
    assignee = models.CharField(max_length=120, blank=True, help_text="Empty for the person.")
    priority = models.CharField(max_length=6, choices=Priority.choices, default=Priority.NORMAL)
    status = models.CharField(max_length=11, choices=Status.choices, default=Status.OPEN)

    class Meta(_PersonalRow.Meta):
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="todo_key_once")]
