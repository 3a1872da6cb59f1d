"""Writing audit entries, of changes and of looks at what another person may use."""

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from acl.actor.chain import Actor, ActorKind, Chain, CredentialKind, Subject
from acl.actor.request_context import ShownKey, current_chain, current_context, note_subject
from acl.audit._acting_key import check_key
from acl.models import AuditEntry, Look, ServiceAccount
from acl.platform.clock import database_now


def record(
    *,
    by: User | ShownKey | None,
    action: str,
    target: str,
    details: dict[str, Any] | None = None,
    groups: Collection[int] | None = None,
    person: int | None = None,
) -> AuditEntry:
    """Write one entry with its chain, in the transaction of the change.

    The actor is the sender of the current request. `by` is whom the service holds responsible, a
    key's owner for a key: outside of requests the actor, otherwise, where it is someone else, the
    subject. None stands for a command or for Pegboard itself.

    `groups` are those that the change concerns, `person` is whose own it is; without either it
    concerns everybody. A request's key is compared with that, and PermissionDenied undoes the
    change if it may not do it.

    The entry's number and its digest come at commit, from the database: whoever records early in a
    long transaction keeps nobody waiting.
    """
    check_key(action, current_context().key, groups=groups, person=person)
    context, chain = current_context(), _chain(_person_of(by))
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


def _person_of(by: User | ShownKey | None) -> User | None:
    """Return the person responsible: of a key, its owner."""
    if by is None or isinstance(by, User):
        return by
    return User.objects.filter(pk=by.owner_id).first() if by.owner_id else None


def _chain(by: User | None) -> Chain:
    """Return the chain of the entry. Whoever acts for themselves is no subject."""
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


def record_look(*, by: User | None, subject: int, name: str, kind: str, key_id: int = 0) -> None:
    """Add an audit entry for a look at the user with the id `subject`; none for one's own.

    One entry for each viewer, subject, kind and hour: a page that answers at every keystroke would
    fill the log. `key_id` stands for the viewer where a key has no owner.
    """
    viewer = by.pk if by else -key_id
    if viewer == subject:
        return
    note_subject(subject, name)
    _record_once(by=by, viewer=viewer, subject=subject, name=name, kind=kind)


@transaction.atomic
def _record_once(*, by: User | None, viewer: int, subject: int, name: str, kind: str) -> None:
    """Record the look unless this hour has it already."""
    hour = database_now().replace(minute=0, second=0, microsecond=0)
    # Of many requests at once one inserts the row; the others wait for it.
    _, is_first = Look.objects.get_or_create(
        viewer_id=viewer, subject_id=subject, kind=kind[:60], hour=hour
    )
    if is_first:
        Look.objects.filter(hour__lt=hour - timedelta(hours=1)).delete()
        record(by=by, action="person.looked_as", target=name, details={"where": kind})
