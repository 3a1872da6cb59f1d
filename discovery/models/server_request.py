"""A request to a server, other than a call: to read a resource, get a prompt, complete a word."""

import uuid
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from acl.actor.chain import CredentialKind
from acl.models import ApplicationColumns, ChainColumns, Space
from acl.platform.jobs.rows import JobRow
from acl.platform.stored_json import StoredJSONField
from acl.platform.strict_json import StrictJSONError, parse_json
from acl.rights.caller_lookup import Caller
from catalog.models import Integration
from discovery.models.call import DEEPEST_RESULT


class ServerRequest(ChainColumns, ApplicationColumns, JobRow):
    """A request for `user`, stored before anything is sent, like a call.

    It stays as the record of who asked what. The answer is cleared once it was delivered.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        COMPLETED = "completed"
        FAILED = "failed"

    ENDED = (State.COMPLETED, State.FAILED)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    group = models.ForeignKey(Group, models.CASCADE, related_name="+")
    other_groups = ArrayField(models.BigIntegerField(), default=list, blank=True, editable=False)
    # Kept if the space is deleted, as for calls: NULL means the root, which may allow more.
    space = models.ForeignKey(
        Space,
        models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        blank=True,
        related_name="+",
    )
    integration = models.ForeignKey(Integration, models.CASCADE, related_name="+")
    method = models.CharField(max_length=48)
    target = models.CharField(
        max_length=500, blank=True, help_text="The resource or prompt that was asked for."
    )
    params_json = models.TextField(default="{}", help_text="What is sent to the server.")
    capabilities = ArrayField(
        models.CharField(max_length=24),
        default=list,
        blank=True,
        help_text="What the client can be asked before the server goes on.",
    )
    state = models.CharField(max_length=16, choices=State.choices, default=State.QUEUED)
    result_json = models.TextField(blank=True, help_text="The answer, until it is delivered.")
    error = StoredJSONField(null=True, blank=True, help_text="Code, message and data, as in MCP.")
    reason = models.CharField(max_length=32, blank=True, help_text="Why it failed, for machines.")
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "pk"]
        indexes = [
            models.Index(fields=["created_at"], name="discovery_request_created"),
            models.Index(
                fields=["user", "integration"],
                condition=Q(state__in=["queued", "running"]),
                name="discovery_request_under_way",
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running"], ended_at__isnull=True)
                | Q(state__in=["completed", "failed"], ended_at__isnull=False),
                name="discovery_request_end",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.method} {self.state}"

    @property
    def caller(self) -> Caller:
        """Return the caller of the request."""
        return Caller(
            self.user_id,
            self.group_id,
            self.space_id,
            tuple(self.other_groups),
            self.application_id,
        )

    @property
    def acts_for_other(self) -> bool:
        """Return True if a signed-in actor made the request for its user."""
        return self.credential == CredentialKind.SESSION and self.actor_id != self.user_id

    @property
    def params(self) -> dict[str, Any]:
        """Return the parameters to send."""
        return _read_object(self.params_json)

    @property
    def result(self) -> dict[str, Any]:
        """Return the server's answer. Raises StrictJSONError if there is none."""
        return _read_object(self.result_json)


def _read_object(text: str) -> dict[str, Any]:
    value = parse_json(text, max_depth=DEEPEST_RESULT, any_text=True)
    if not isinstance(value, dict):
        raise StrictJSONError("the value is not an object")
    return value
