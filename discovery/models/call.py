"""A call of a capability: its request, approval and outcome."""

import uuid
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.models import Group
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy

from acl.actor import CredentialKind
from acl.models import ApplicationColumns, ChainColumns, ConversationColumns, Space
from acl.models.application import index_of_application, index_of_conversation
from acl.platform.jobs import JobRow
from acl.platform.stored_json import StoredJSONField
from acl.platform.strict_json import StrictJSONError, parse_json
from acl.rights.caller_lookup import Caller
from catalog.models import Capability, Integration
from discovery.models.turn import Turn

# The depth allowed for servers' answers, plus the envelope around them.
DEEPEST_RESULT = 140


class Content(models.IntegerChoices):
    """Degree to which a row keeps its arguments and result; a policy only raises it."""

    KEPT = 0, gettext_lazy("Kept")
    REDACTED = 1, gettext_lazy("Redacted")
    REMOVED = 2, gettext_lazy("Not kept")


class Call(ChainColumns, ConversationColumns, JobRow):
    """A call for `user`, stored before anything is sent; its columns name the chain that asked.

    It changes state by conditional updates only. Arguments and result are text, since a JSON column
    would change numbers and refuse characters: what a person approved is sent unchanged.
    """

    class State(models.TextChoices):
        WAITING = "waiting_approval", gettext_lazy("waits for approval")
        QUEUED = "queued", gettext_lazy("Queued")
        RUNNING = "running", gettext_lazy("Running")
        COMPLETED = "completed", gettext_lazy("Completed")
        FAILED = "failed", gettext_lazy("Failed")
        UNKNOWN = "unknown", gettext_lazy("outcome unknown")
        REJECTED = "rejected", gettext_lazy("Rejected")
        EXPIRED = "expired", gettext_lazy("Expired")
        CANCELLED = "cancelled", gettext_lazy("Cancelled")

    class Way(models.TextChoices):
        SERVER = "server", "by its server"
        CLIENT = "client", "by the application that asked"
        SKILL = "skill", "instructions to read"
        PEGBOARD = "pegboard", "by Pegboard itself"

    UNDER_WAY = (State.QUEUED, State.RUNNING)
    ENDED = (
        State.COMPLETED,
        State.FAILED,
        State.UNKNOWN,
        State.REJECTED,
        State.EXPIRED,
        State.CANCELLED,
    )

    erased: ClassVar = {
        "user": {
            "arguments_json": "{}",
            "result_json": "",
            "message": "",
            "note": "",
            "idempotency_key": "",
            "conversation": "",
            "flow": {},
            "dialogue": None,
            "questions": [],
            "content": Content.REMOVED,
        },
        "actor": {"key_name": ""},
        "decided_by": {"note": "", "decided_key_name": ""},
    }

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # The composite indexes below begin with these columns.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, db_index=False, related_name="+"
    )
    group = models.ForeignKey(Group, models.CASCADE, db_index=False, related_name="+")
    # The group of the space, if another group grants the tool: its deny rules apply, too.
    other_groups = ArrayField(models.BigIntegerField(), default=list, blank=True, editable=False)
    # Kept if the space is deleted: NULL means the root, which may allow more than the space did.
    space = models.ForeignKey(
        Space,
        models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        blank=True,
        related_name="+",
    )
    capability = models.ForeignKey(
        Capability, models.SET_NULL, db_index=False, null=True, blank=True, related_name="+"
    )
    full_name = models.CharField(max_length=64)
    definition_hash = models.CharField(max_length=64, help_text="As it was when it was asked for.")
    side_effect = models.CharField(max_length=8, choices=Capability.SideEffect.choices)
    way = models.CharField(max_length=8, choices=Way.choices)
    arguments_json = models.TextField(default="{}", help_text="Exactly as they were sent.")
    arguments_hash = models.CharField(max_length=64)
    idempotency_key = models.CharField(max_length=255, blank=True)
    turn = models.ForeignKey(Turn, models.SET_NULL, null=True, blank=True, related_name="calls")

    state = models.CharField(max_length=16, choices=State.choices, default=State.QUEUED)
    needs_approval = models.BooleanField(default=False)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_credential = models.CharField(max_length=8, blank=True, default="", db_default="")
    decided_key_prefix = models.CharField(max_length=12, blank=True, default="", db_default="")
    decided_key_name = models.CharField(max_length=120, blank=True, default="", db_default="")
    approved_digest = models.CharField(
        max_length=64, blank=True, help_text="What was shown and approved; nothing else is sent."
    )
    note = models.CharField(max_length=500, blank=True)
    expires_at = models.DateTimeField(
        null=True, blank=True, help_text="Until when it may begin, by the database's clock."
    )

    result_json = models.TextField(blank=True, help_text="What its server answered, capped.")
    reason = models.CharField(max_length=32, blank=True, help_text="Why it failed, for machines.")
    message = models.TextField(blank=True, help_text="The same in words.")
    flow = StoredJSONField(
        null=True,
        blank=True,
        default=dict,
        help_text="What the guard on flows says of it; empty if it was not asked.",
    )
    # Estimated, four characters each.
    tokens_arguments = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    tokens_result = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    content = models.PositiveSmallIntegerField(
        choices=Content.choices, default=Content.KEPT, db_default=Content.KEPT, editable=False
    )
    dialogue = StoredJSONField(
        null=True,
        blank=True,
        help_text="What an MCP client can be asked, and has answered, until the call ends.",
    )
    questions = StoredJSONField(
        null=True,
        blank=True,
        default=list,
        editable=False,
        help_text="What its server asked meanwhile, with the states of the answers.",
    )
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "pk"]
        indexes = [
            models.Index(fields=["user", "-created_at"], name="discovery_call_of_user"),
            models.Index(fields=["group", "-created_at"], name="discovery_call_of_group"),
            models.Index(fields=["capability", "-created_at"], name="discovery_call_of_tool"),
            index_of_application("discovery_call"),
            index_of_conversation("discovery_call"),
            # The log of everyone, and of tools by the beginning of their names.
            models.Index(fields=["-created_at", "-id"], name="discovery_call_log"),
            models.Index(
                fields=["full_name", "-created_at"],
                name="discovery_call_of_name",
                opclasses=["varchar_pattern_ops", "timestamptz_ops"],
            ),
            models.Index(
                fields=["user", "-created_at"],
                condition=Q(credential="session") & ~Q(actor=F("user")),
                name="discovery_call_by_others",
            ),
            models.Index(
                fields=["created_at"],
                condition=Q(state="waiting_approval"),
                name="discovery_call_waiting",
            ),
            models.Index(
                fields=["sent_at"],
                condition=Q(state__in=["queued", "running"]),
                name="discovery_call_under_way",
            ),
            models.Index(fields=["ended_at"], name="discovery_call_ended"),
            # For groups that keep less: calls to which their policy was not applied yet.
            models.Index(
                fields=["group", "content", "ended_at"],
                condition=Q(content__lt=2),
                name="discovery_call_content",
            ),
            models.Index(
                fields=["-created_at"],
                condition=Q(needs_approval=True),
                name="discovery_call_approvals",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "group", "actor", "credential", "idempotency_key"],
                condition=Q(actor__isnull=False) & ~Q(idempotency_key=""),
                name="discovery_one_call_of_a_key",
            ),
            # A key without an owner is a sender of its own.
            models.UniqueConstraint(
                fields=["user", "group", "key", "credential", "idempotency_key"],
                condition=Q(actor__isnull=True) & ~Q(idempotency_key=""),
                nulls_distinct=False,
                name="discovery_one_call_of_an_ownerless_key",
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=["waiting_approval", "queued", "running"], ended_at__isnull=True
                )
                | Q(
                    state__in=[
                        "completed", "failed", "unknown", "rejected", "expired", "cancelled",
                    ],
                    ended_at__isnull=False,
                ),
                name="discovery_call_end",
            ),
            # A call that needs approval cannot be queued, run or completed without one.
            models.CheckConstraint(
                condition=Q(needs_approval=False)
                | ~Q(state__in=["queued", "running", "completed", "unknown"])
                | (Q(decided_at__isnull=False) & ~Q(approved_digest="")),
                name="discovery_call_approved",
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.full_name} {self.state}"

    @property
    def caller(self) -> Caller:
        """Return the caller of the call."""
        return Caller(
            self.user_id,
            self.group_id,
            self.space_id,
            tuple(self.other_groups),
            self.application_id,
        )

    @property
    def acts_for_other(self) -> bool:
        """Return True if a signed-in actor made the call for its user; it gets shared accounts
        only."""
        return self.credential == CredentialKind.SESSION and self.actor_id != self.user_id

    @property
    def arguments(self) -> dict[str, Any]:
        """Return the arguments to send. Raises StrictJSONError if the row was altered."""
        arguments = parse_json(self.arguments_json)
        if not isinstance(arguments, dict):
            raise StrictJSONError("the arguments are not an object")
        return arguments

    @property
    def result(self) -> dict[str, Any] | None:
        """Return the server's answer as `content`, `structured` and `is_error`, or None."""
        if not self.result_json:
            return None
        result = parse_json(self.result_json, max_depth=DEEPEST_RESULT, any_text=True)
        if not isinstance(result, dict):
            raise StrictJSONError("the answer is not an object")
        return result


# A request to a server, other than a call: to read a resource, get a prompt, complete a word.


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
