"""Applying a configuration file: in one transaction, through the services that the pages use.

A plan is the same run, rolled back at its end: it is exact, and finds whatever would be refused.
"""

from dataclasses import dataclass
from hashlib import sha256

from django.contrib.auth.models import User
from django.db import transaction

from acl.audit.recorder import record
from acl.models.api_key import Rank
from acl.rights.delegation import authority_of
from catalog.locks import lock_catalog
from catalog.models import Integration
from marketplace.config_file._application import Application, EntryChange, Waiting, compare
from marketplace.config_file._integration_step import apply_integrations
from marketplace.config_file._policy_step import apply_policies
from marketplace.config_file._quota_step import apply_quotas
from marketplace.config_file._rights_step import apply_groups, apply_rights
from marketplace.config_file._waiting_step import apply_waiting
from marketplace.config_file.export_service import Values, export_document
from marketplace.config_file.text import ConfigurationRefused, Problem, ReadDocument, read_document
from marketplace.installs.state import lock_integration

MOST_RECORDED = 200


@dataclass(frozen=True, slots=True)
class Applied:
    """Changes that a file makes, entries that wait, and what an admin has to do next."""

    changes: tuple[EntryChange, ...]
    waiting: tuple[Waiting, ...]
    notes: tuple[str, ...]

    @property
    def deletes(self) -> int:
        """Return the number of deleted entries."""
        return sum(change.action == "delete" for change in self.changes)

    def as_json(self) -> Values:
        """Return it for programs."""
        return {
            "changes": [change.as_json() for change in self.changes],
            "waiting": [
                {"line": entry.line, "path": entry.path, "reason": entry.reason}
                for entry in self.waiting
            ],
            "notes": list(self.notes),
        }


def apply_text(
    *, by: User | None, text: str, source: str, prune: bool = False, dry_run: bool = False
) -> Applied:
    """Apply a file's text, or with `dry_run` only say what that would change.

    `by` is None for the operator at the shell. Raises ConfigurationRefused with every error found;
    nothing is changed then.
    """
    if authority_of(by).rank < Rank.STAFF:
        raise ConfigurationRefused([Problem(0, "", "only an admin may apply a configuration")])
    document = read_document(text)
    with transaction.atomic():
        applied = _apply(by, document, prune=prune)
        if applied.changes and not dry_run:
            details = {
                "sha256": sha256(text.encode()).hexdigest(),
                "prune": prune,
                "changes": len(applied.changes),
                "changed": [
                    f"{change.action} {change.kind} {change.name}"
                    for change in applied.changes[:MOST_RECORDED]
                ],
            }
            record(by=by, action="configuration.apply", target=source, details=details)
        transaction.set_rollback(dry_run)
    return applied


def _apply(by: User | None, document: ReadDocument, *, prune: bool) -> Applied:
    work = Application(by=by, read=document, prune=prune)
    _lock(work)
    before = export_document()
    apply_groups(work)
    apply_integrations(work)
    work.load_names()
    apply_policies(work)
    apply_quotas(work)
    apply_waiting(work)
    apply_rights(work)
    if work.problems:
        raise ConfigurationRefused(sorted(work.problems, key=lambda entry: entry.line))
    changes = compare(before, export_document())
    waiting = sorted(dict.fromkeys(work.waiting), key=lambda entry: entry.line)
    return Applied(tuple(changes), tuple(waiting), tuple(dict.fromkeys(work.notes)))


def _lock(work: Application) -> None:
    """Take the locks of integrations before the catalogue's, as every other writer does."""
    if work.document.integrations is None:
        return
    rows = Integration.objects.order_by("pk")
    if not work.prune:
        rows = rows.filter(
            slug__in=[integration.slug for integration in work.document.integrations]
        )
    for pk in rows.values_list("pk", flat=True):
        lock_integration(pk)
    lock_catalog()
