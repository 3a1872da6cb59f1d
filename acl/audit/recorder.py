"""Writing audit entries, of changes and of looks at what another person may use."""

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils.translation import gettext as _

from acl.actor import (
    Actor,
    ActorKind,
    Chain,
    CredentialKind,
    ShownKey,
    Subject,
    current_chain,
    current_context,
    note_subject,
)
from acl.models import AuditEntry, Look, ServiceAccount
from acl.models.api_key import ApiKey, Rank, hold_key
from acl.platform.database_work import database_now

# Audited actions, and what the key of a request needs for each.
#
# Every service writes its change together with an audit entry, so the entry is where all of them
# are compared with the key that the request has shown, whatever door it came by: with its scopes,
# with the groups that the change concerns, with its rank, and with its end.

Scope = ApiKey.Scope
_WORDS_BY_SCOPES: dict[frozenset[str], str] = {
    frozenset({Scope.ADMIN}): """
        addition.add addition.look advice.remove advice.set application.changed
        application.created application.deleted application.key call.approve call.reject
        call_policy.changed
        capability.approve capability.change capability.gone capability.promote capability.remove
        catalog.rebuild chat_model.deleted chat_model.set configuration.apply
        definition.approve definition.reject definition.remove edge.add edge.remove examples.ask
        flowrule.add flowrule.change flowrule.delete grant.remove
        group.closed group.joined_by_default group.merged group.not_joined_by_default group.opened
        host.allow host.forget own_servers.allow own_servers.forbid
        install.approve install.cancel install.confirm install.install install.retry
        install.roll_back install.start install.update
        integration.application_executes integration.call_limit integration.check
        integration.confirm integration.described integration.disable integration.enable
        integration.network integration.requestable integration.restricted integration.uninstall
        integration.unrequestable integration.unrestricted
        invitation.withdrawn key.created key.rotated learning.forget learning.reset
        listing.approve listing.hide manifest.takeover model_price.deleted model_price.set
        preset.change quota.deleted quota.set registry.active registry.deprecated registry.draft
        request.declined request.granted rule.add rule.lift rule.remove
        secret.forget secret.own secret.set server.approve server.reject service_account.created
        source.add source.change source.refresh source.remove
        space.created space.moved space.removed space.renamed
        trustedvalue.add trustedvalue.change trustedvalue.delete""",
    frozenset({Scope.ADMIN, Scope.SCIM}): """
        group.created group.deleted group.renamed key.revoked person.changed person.deactivated
        person.deprovisioned person.erased person.exported person.invited person.joined_group
        person.left_group person.provisioned person.reactivated""",
    frozenset({Scope.ADMIN, Scope.REGISTER}): """
        capability.propose capability.replace capability.retire grant.add""",
    frozenset({Scope.EXECUTE}): "call.cancel server.propose",
    # A person's own, in a session: no key does it.
    frozenset(): """
        account.client account.connect account.forget account.sign_in alert.seen alert.unseen
        client.connected learning.teach learning.unteach notification.channel_added
        notification.channel_paused notification.channel_removed notification.channel_resumed
        person.connected person.disconnected person.email_changed person.email_removed
        person.password_changed person.password_reset person.password_set
        person.recovery_codes_made person.two_factor_off person.two_factor_on request.opened
        sign_in_group.added sign_in_group.removed tool_example.deleted tool_example.saved""",
}
SCOPES = {action: scopes for scopes, words in _WORDS_BY_SCOPES.items() for action in words.split()}
# What follows from an act that is compared itself, from a person's answer, or from time.
_CONSEQUENCES = """
    audit.archived call.acted_for call.left_queue call.question_accepted capability.expire
    capability.tried catalog.register client.disconnected database.backed_up database.restored
    definition.differs
    invitation.accepted person.groups_mapped person.joined person.looked_as rule.keep"""
CONSEQUENCES = frozenset(_CONSEQUENCES.split())
# Members and spaces are administered by admins: a key without an admin's rank has rules and keys.
_OF_ADMINS = ("group", "invitation", "person", "service_account", "space")
# The key that does it may be the one that ends: `acl.rights.delegation` has held it before.
_ENDING = frozenset({"key.revoked", "key.rotated"})


def check_key(
    action: str, key: ShownKey | None, *, groups: Collection[int] | None, person: int | None
) -> None:
    """Raise PermissionDenied, which undoes the change, unless the key may do this to these groups,
    to this person's own, or, where neither is named, to everybody. Who may do it without a key, the
    doors ask. The key is locked, so that its revocation waits, and a revoked one does nothing."""
    if key is None or action in CONSEQUENCES:
        return
    if key.scopes.isdisjoint(SCOPES.get(action, frozenset())):
        raise PermissionDenied(_("The key lacks the scope that this needs."))
    if action.partition(".")[0] in _OF_ADMINS and key.rank < Rank.STAFF:
        raise PermissionDenied(_("Only an admin, or a key that belongs to one, may do this."))
    if person is not None and person != key.owner_id:
        raise PermissionDenied(_("This is another person's own."))
    if groups and not all(key.knows_of(group) for group in groups):
        raise PermissionDenied(_("You do not administer all of these groups."))
    if person is None and not groups and not key.is_of_the_installation:
        raise PermissionDenied(
            _("This concerns the whole installation. Use an admin's key for all groups.")
        )
    if action not in _ENDING and not hold_key(key.key_id):
        raise PermissionDenied(_("Your own key has ended."))


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
