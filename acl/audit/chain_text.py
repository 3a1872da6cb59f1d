"""The chain of an act in words, for pages."""

from django.contrib.auth.models import User

from acl.actor.chain import ActorKind, CredentialKind
from acl.models import AuditEntry, ChainColumns

COMMAND = "command line"
SYSTEM = "Pegboard"
GONE = "somebody who is gone"
_NOBODY = {
    ActorKind.KEY: "nobody: the key has no owner",
    ActorKind.OPERATOR: COMMAND,
    ActorKind.SYSTEM: SYSTEM,
}


def actor_text(row: ChainColumns) -> str:
    """Return the name of the row's actor. Select `actor` for lists."""
    if row.actor_id is None:
        return _NOBODY.get(ActorKind(row.actor_kind), "not recorded") if row.actor_kind else ""
    actor = User.objects.filter(pk=row.actor_id).first() if not _is_loaded(row) else row.actor
    name = actor.get_full_name() or actor.get_username() if actor else GONE
    return _with_kind(name, row.actor_kind)


def credential_text(row: ChainColumns | AuditEntry) -> str:
    """Return the credential: a session, a key by its name and first characters, or ""."""
    if row.credential == CredentialKind.SESSION:
        return "signed in"
    if not row.key_prefix:
        return ""
    return f"key {row.key_name} ({row.key_prefix}…)" if row.key_name else f"key {row.key_prefix}…"


def entry_actor_text(entry: AuditEntry) -> str:
    """Return the name of the entry's actor, as it was then."""
    if entry.by_name:
        return _with_kind(entry.by_name, entry.actor_kind)
    return _NOBODY[ActorKind(entry.actor_kind)] if entry.actor_kind else COMMAND


def _is_loaded(row: ChainColumns) -> bool:
    return "actor" in row._state.fields_cache


def _with_kind(name: str, kind: str) -> str:
    return f"{name} (service account)" if kind == ActorKind.SERVICE_ACCOUNT else name
