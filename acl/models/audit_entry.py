"""The audit log. Rows are only added, and each is chained to the one before.

The database does it, so that no code can forget it: at commit a trigger gives the entry its number,
the digest of the entry before it and its own; others refuse to change, remove or empty the table.
`triggers` names them, the migrations `0002_audit_chain` and `0009_chain` have their code, and
`docs/audit.md` says what they promise.
"""

from typing import Any, ClassVar

from django.conf import settings
from django.db import models

from acl.actor import ActorKind, CredentialKind, current_chain
from acl.platform.migration_operations import DatabaseTrigger, Triggers
from acl.platform.stored_json import StoredJSONField

# Columns for the chain of an act: actor and credential. The subject is the row's own user.


class ChainColumns(models.Model):
    """Actor and credential of an act.

    The ids have no constraint and are never reused, so they outlive the user and the key: a
    dangling id still shows that it was not the row's own user.
    """

    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        blank=True,
        related_name="+",
        help_text="The person or service account that acted. Empty for a key without an owner.",
    )
    actor_kind = models.CharField(
        max_length=16,
        blank=True,
        default="",
        db_default="",
        choices=[(kind.value, kind.value) for kind in ActorKind],
    )
    credential = models.CharField(
        max_length=8,
        blank=True,
        default="",
        db_default="",
        choices=[(kind.value, kind.value) for kind in CredentialKind],
    )
    key = models.ForeignKey(
        "acl.ApiKey",
        models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        blank=True,
        related_name="+",
    )
    key_prefix = models.CharField(max_length=12, blank=True, default="", db_default="")
    key_name = models.CharField(max_length=120, blank=True, default="", db_default="")

    class Meta:
        abstract = True


def chain_columns() -> dict[str, Any]:
    """Return the values of ChainColumns for the current request."""
    chain = current_chain()
    return {
        "actor_id": chain.actor.id,
        "actor_kind": chain.actor.kind,
        "credential": chain.credential.kind,
        "key_id": chain.credential.id,
        "key_prefix": chain.credential.prefix,
        "key_name": chain.credential.name,
    }


class AuditEntry(models.Model):
    """An audit entry, written in the transaction of the change."""

    at = models.DateTimeField(auto_now_add=True)
    # The log outlives people: their name stays, and so does the id, which is never given again.
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.DO_NOTHING,
        db_constraint=False,
        null=True,
        blank=True,
        related_name="+",
    )
    by_name = models.CharField(max_length=150, blank=True, default="")
    # The rest of the chain. Entries from before it was kept have none of it, and another digest.
    actor_kind = models.CharField(max_length=16, blank=True, default="", db_default="")
    credential = models.CharField(max_length=8, blank=True, default="", db_default="")
    key_id = models.BigIntegerField(null=True, blank=True)
    key_name = models.CharField(max_length=120, blank=True, default="", db_default="")
    subject_id = models.BigIntegerField(null=True, blank=True)
    subject_name = models.CharField(max_length=150, blank=True, default="", db_default="")
    action = models.CharField(max_length=60)
    target = models.CharField(max_length=200)
    details = StoredJSONField(default=dict, blank=True)
    request_id = models.CharField(max_length=64, blank=True, default="")
    key_prefix = models.CharField(max_length=12, blank=True, default="")
    address = models.CharField(max_length=45, blank=True, default="")

    version = models.PositiveSmallIntegerField(
        default=2, db_default=2, editable=False, help_text="Which fields the digest covers."
    )
    # Empty until the transaction commits.
    number = models.BigIntegerField(null=True, unique=True, editable=False)
    previous = models.CharField(max_length=64, null=True, editable=False)  # noqa: DJ001
    digest = models.CharField(max_length=64, null=True, editable=False)  # noqa: DJ001

    triggers: ClassVar[Triggers] = (
        # Nobody chooses an entry's place: number and digests are empty until the commit.
        DatabaseTrigger("acl_audit_unplaced", "BEFORE INSERT", "ROW", "acl_audit_unplaced"),
        DatabaseTrigger(
            "acl_audit_placed",
            "AFTER INSERT DEFERRABLE INITIALLY DEFERRED",
            "ROW",
            "acl_audit_placed",
        ),
        # Nothing is changed, removed or emptied.
        DatabaseTrigger(
            "acl_audit_unchanged", "BEFORE DELETE OR UPDATE", "ROW", "acl_audit_refused"
        ),
        DatabaseTrigger("acl_audit_kept", "BEFORE TRUNCATE", "STATEMENT", "acl_audit_refused"),
    )

    class Meta:
        verbose_name_plural = "audit entries"
        ordering = ["-at", "-pk"]
        indexes = [
            models.Index(fields=["action", "-id"], name="acl_audit_action"),
            models.Index(fields=["by_name", "-id"], name="acl_audit_by_name"),
            models.Index(
                fields=["subject_name", "-id"],
                condition=~models.Q(subject_name=""),
                name="acl_audit_subject",
            ),
            # Those of the transaction at hand: the trigger looks for them.
            models.Index(fields=["id"], condition=models.Q(number=None), name="acl_audit_unplaced"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.target}"


class AuditHead(models.Model):
    """The last entry's number and digest, in one row that only the trigger writes.

    Whoever appends waits here for the one before to commit; and where the end of the log has been
    cut off, the head still tells how long it was.
    """

    number = models.BigIntegerField()
    digest = models.CharField(max_length=64)

    triggers: ClassVar[Triggers] = (
        # Only the log's own trigger writes the head.
        DatabaseTrigger(
            "acl_audit_head_unchanged",
            "BEFORE INSERT OR DELETE OR UPDATE",
            "ROW",
            "acl_audit_refused",
        ),
        DatabaseTrigger("acl_audit_head_kept", "BEFORE TRUNCATE", "STATEMENT", "acl_audit_refused"),
    )

    class Meta:
        default_permissions = ()
        constraints = [models.CheckConstraint(condition=models.Q(pk=1), name="acl_audithead_one")]

    def __str__(self) -> str:
        return f"{self.number} {self.digest}"


class AuditArchive(models.Model):
    """An archive file of the log's beginning: its entries up to `number` may leave the database.

    The database takes only the digest of that entry, and lets only these entries go.
    """

    number = models.BigIntegerField(unique=True, help_text="Of its last entry.")
    digest = models.CharField(max_length=64, help_text="Of its last entry.")
    file = models.CharField(max_length=200, help_text="The name that it was written to.")
    checksum = models.CharField(max_length=64, help_text="SHA-256 of the file.")
    at = models.DateTimeField(auto_now_add=True)

    triggers: ClassVar[Triggers] = (
        DatabaseTrigger(
            "acl_audit_archive_fits", "BEFORE INSERT OR DELETE OR UPDATE", "ROW",
            "acl_audit_archive_fits",
        ),
        DatabaseTrigger(
            "acl_audit_archive_kept", "BEFORE TRUNCATE", "STATEMENT", "acl_audit_refused"
        ),
    )  # fmt: skip

    class Meta:
        default_permissions = ()
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"{self.file} to {self.number}"


# Looks: someone has looked at what another person may use.


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


# Beats: how far a read replica has come, in numbers that web processes count up.


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
