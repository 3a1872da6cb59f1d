"""Audited actions, and what the key of a request needs for each.

Every service writes its change together with an audit entry, so the entry is where all of them are
compared with the key that the request has shown, whatever door it came by: with its scopes, with
the groups that the change concerns, with its rank, and with its end.
"""

from collections.abc import Collection

from django.core.exceptions import PermissionDenied
from django.utils.translation import gettext as _

from acl.actor.request_context import ShownKey
from acl.models.api_key import ApiKey, Rank, hold_key

Scope = ApiKey.Scope
_WORDS_BY_SCOPES: dict[frozenset[str], str] = {
    frozenset({Scope.ADMIN}): """
        addition.add addition.look advice.remove advice.set application.changed
        application.created application.deleted application.key call.approve call.reject
        call_policy.changed
        capability.approve capability.change capability.gone capability.promote capability.remove
        catalog.rebuild chat_model.deleted chat_model.set configuration.apply
        definition.approve definition.reject definition.remove edge.add edge.remove
        flowrule.add flowrule.change flowrule.delete grant.remove
        group.closed group.joined_by_default group.merged group.not_joined_by_default group.opened
        host.allow host.forget
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
