"""Writing audit entries."""

from dataclasses import replace
from typing import Any

from django.contrib.auth.models import User

from acl.actor.chain import Actor, ActorKind, Chain, CredentialKind, Subject
from acl.actor.request_context import current_chain, current_context
from acl.models import AuditEntry, ServiceAccount


def record(
    *, by: User | None, action: str, target: str, details: dict[str, Any] | None = None
) -> AuditEntry:
    """Write one entry with its chain, in the transaction of the change.

    The actor is whoever the request at hand comes from. `by` is the person whom the service holds
    responsible: outside of requests the actor, otherwise, where it is somebody else, the subject.
    None stands for a command or for Pegboard itself.

    The entry's number and its digest come at commit, from the database: whoever records early in a
    long transaction keeps nobody waiting.
    """
    context, chain = current_context(), _chain(by)
    actor, credential, subject = chain.actor, chain.credential, chain.subject
    return AuditEntry.objects.create(
        by_id=actor.id,
        by_name=actor.name,
        actor_kind=actor.kind,
        credential=credential.kind,
        key_id=credential.id,
        key_name=credential.name,
        key_prefix=credential.prefix,
        subject_id=subject.id if subject else None,
        subject_name=subject.name if subject else "",
        action=action,
        target=target[:200],
        details=details or {},
        request_id=context.request_id,
        address=context.address,
    )


def _chain(by: User | None) -> Chain:
    """Return the chain of the entry; who acts for themselves is no subject."""
    chain = current_chain()
    if chain.credential.kind == CredentialKind.NONE:
        return replace(chain, actor=_named(by.pk, by)) if by else chain
    if chain.credential.kind == CredentialKind.KEY and chain.actor.id is not None:
        chain = replace(chain, actor=_named(chain.actor.id, by))
    if by is not None and by.pk != chain.actor.id:
        chain = replace(chain, subject=Subject(by.pk, by.get_username()))
    if chain.subject is not None and chain.subject.id == chain.actor.id:
        return replace(chain, subject=None)
    return chain


def _named(user_id: int, by: User | None) -> Actor:
    """Return the user as an actor: a person, or a service account."""
    user = by if by is not None and by.pk == user_id else User.objects.filter(pk=user_id).first()
    is_program = ServiceAccount.objects.filter(user=user_id).exists()
    kind = ActorKind.SERVICE_ACCOUNT if is_program else ActorKind.PERSON
    return Actor(kind, user_id, user.get_username() if user else "")
