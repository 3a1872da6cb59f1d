"""Servers proposed by people and their assistants."""

from django.contrib.auth.models import Group, User
from django.db import models
from django.db.models import Q

from acl.models import ChainColumns


class ServerProposal(ChainColumns):
    """An address, or something else that was pasted, for an admin to add or reject.

    Nothing is sent to it before, and it holds no secret.
    """

    class State(models.TextChoices):
        OPEN = "open"
        APPROVED = "approved"
        REJECTED = "rejected"

    name = models.CharField(max_length=100)
    endpoint = models.CharField(max_length=500, blank=True)
    wanted = models.TextField(
        blank=True,
        default="",
        db_default="",  # during an upgrade, the previous version still inserts rows
        help_text="What was pasted, if it is no address: a package, a command, a configuration.",
    )
    reason = models.CharField(max_length=500, blank=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    group = models.ForeignKey(Group, models.CASCADE, related_name="+")
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    note = models.CharField(max_length=500, blank=True)
    answered_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    answered_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["group", "endpoint", "wanted"],
                condition=Q(state="open"),
                name="one_open_proposal_each",
            )
        ]

    def __str__(self) -> str:
        return self.name
