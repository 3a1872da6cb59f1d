"""Chat applications: what is said of the programs whose keys ask Pegboard."""

import hmac
from hashlib import sha256
from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import Group
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from acl.models.rights_change import RightsChange, counted_rows, kept_periods
from acl.platform.migration_operations import Triggers
from acl.platform.stored_json import StoredJSONField

LONGEST_NAME = 80
LONGEST_CONVERSATION = 128
_APPLICATION = RightsChange.Concern.APPLICATION


class Application(models.Model):
    """A chat application of the organisation: its keys, defaults, limits, and what it may reach.

    `integrations` limits what its callers' own rights give, and never adds to it. It holds keys
    of another app's table without a constraint: a deleted integration stays in it, so that the
    last one to go does not turn "these" into "all".
    """

    triggers: ClassVar[Triggers] = (
        *counted_rows("acl_application", _APPLICATION, "r.id"),
        *kept_periods("acl_application", ["name", "integrations"]),
    )

    name = models.CharField(max_length=LONGEST_NAME, unique=True)
    description = models.CharField(max_length=300, blank=True)
    group = models.ForeignKey(
        Group,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="applications",
        help_text="The group that owns it; without one it is the admins' own.",
    )
    defaults = StoredJSONField(
        default=dict,
        blank=True,
        help_text="Fields of requests that apply where a request leaves them out.",
    )
    integrations = ArrayField(
        models.BigIntegerField(), default=list, blank=True, help_text="Empty for all."
    )
    # Empty limits nothing beyond what each key has.
    calls_a_minute = models.PositiveIntegerField(null=True, blank=True)
    calls_a_day = models.PositiveIntegerField(null=True, blank=True)
    tokens_a_day = models.PositiveBigIntegerField(null=True, blank=True)
    cpu_a_minute = models.PositiveIntegerField(
        null=True, blank=True, help_text="Milliseconds, of all its keys together."
    )
    alert_below = models.FloatField(
        null=True,
        blank=True,
        help_text="The success rate below which its owners are told; empty for the deployment's.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.CheckConstraint(condition=~Q(name=""), name="acl_application_named"),
            models.CheckConstraint(
                condition=(Q(calls_a_minute=None) | Q(calls_a_minute__gt=0))
                & (Q(calls_a_day=None) | Q(calls_a_day__gt=0))
                & (Q(tokens_a_day=None) | Q(tokens_a_day__gt=0))
                & (Q(cpu_a_minute=None) | Q(cpu_a_minute__gt=0))
                & (Q(alert_below=None) | Q(alert_below__gte=0, alert_below__lte=1)),
                name="acl_application_limits",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class ApplicationColumns(models.Model):
    """Column of what an application asked for.

    The application's id has no constraint and is never used again: without it, what waits of a
    deleted application would have all the rights of its person.
    """

    application = models.ForeignKey(
        Application,
        models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
    )

    class Meta:
        abstract = True


class ConversationColumns(ApplicationColumns):
    """Columns of what an application asked for in a conversation."""

    conversation = models.CharField(
        max_length=LONGEST_CONVERSATION,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="The application's own name of the conversation, or its hash.",
    )

    class Meta:
        abstract = True


def index_of_application(table: str, *, newest: str = "-created_at") -> models.Index:
    """Return the index of rows that an application asked for; most rows are of none."""
    is_one = models.Q(application__isnull=False)
    return models.Index(fields=["application", newest], condition=is_one, name=f"{table}_of_app")


def index_of_conversation(table: str) -> models.Index:
    """Return the index of rows of a conversation; most rows are of none."""
    is_one = ~models.Q(conversation="")
    fields = ["conversation", "-created_at"]
    return models.Index(fields=fields, condition=is_one, name=f"{table}_in_chat")


def stored_conversation(name: str) -> str:
    """Return what is stored of a conversation's name: a keyed hash where the operator wants one.

    Such names often hold a person's address or a ticket's number.
    """
    if not name or not settings.PEGBOARD_HASH_CONVERSATIONS:
        return name
    return hmac.new(settings.SECRET_KEY.encode(), name.encode(), sha256).hexdigest()
