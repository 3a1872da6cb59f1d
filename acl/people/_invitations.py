"""Invitations: sent, withdrawn and accepted. They are the one way to an account.

The link is random and shown once; what is stored is a digest. Whoever has the link can accept, so
it ends after a while, after one use, and with the admin who sent it or the key that they used.
"""

import secrets
from collections.abc import Iterable
from datetime import timedelta

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.keys.lifecycle import current_holder, digest_of
from acl.models import ApiKey, Invitation
from acl.models.api_key import IN_FORCE
from acl.people.groups import join_default_groups
from acl.people.people import PeopleRefused, is_address_taken
from acl.platform.clock import database_now
from acl.rights.delegation import (
    Actor,
    DelegationRefused,
    check_invitation,
    hold_credential,
    person_behind,
)
from acl.rights.delegation.authority import KeyHolder
from acl.visible_text.pieces import check_plain_name

RANDOM_BYTES = 32
OPEN = Q(accepted_at=None, withdrawn_at=None)


@transaction.atomic
def invite(
    *, by: Actor, email: str, groups: Iterable[Group], role: str = Invitation.Role.MEMBER
) -> tuple[Invitation, str]:
    """Create an invitation and return it with its link's secret, which is not stored.

    Earlier invitations to the address end.
    """
    email, chosen = email.strip().lower(), list(groups)
    hold_credential(by)
    _check_power(by, role, chosen)
    if is_address_taken(email):
        raise PeopleRefused(_("There is already an account with this address."))
    Invitation.objects.filter(OPEN, email__iexact=email).update(withdrawn_at=Now())
    raw = secrets.token_urlsafe(RANDOM_BYTES)
    invitation = Invitation.objects.create(
        email=email,
        role=role,
        by=person_behind(by),
        made_with_id=by.key_id if isinstance(by, KeyHolder) else None,
        digest=digest_of(raw),
        expires_at=database_now() + timedelta(days=settings.PEGBOARD_INVITATION_DAYS),
    )
    invitation.groups.set(chosen)
    record(
        by=by, action="person.invited", target=email, details=_details(invitation),
        groups=[group.pk for group in chosen],
    )  # fmt: skip
    return invitation, raw


@transaction.atomic
def withdraw(*, by: Actor, invitation: Invitation) -> None:
    """End an invitation, so that its link no longer works."""
    if Invitation.objects.filter(OPEN, pk=invitation.pk).update(withdrawn_at=Now()):
        groups = list(invitation.groups.values_list("pk", flat=True))
        record(by=by, action="invitation.withdrawn", target=invitation.email, groups=groups)


def list_open() -> QuerySet[Invitation]:
    """Return open invitations; expired ones have `over`."""
    over = ExpressionWrapper(Q(expires_at__lte=Now()), output_field=BooleanField())
    open_ones = Invitation.objects.filter(OPEN).annotate(over=over)
    return open_ones.select_related("by").prefetch_related("groups")


def open_invitation(raw: str) -> Invitation | None:
    """Return a link's invitation if it can still be accepted."""
    return _acceptable().filter(digest=digest_of(raw)).first()


@transaction.atomic
def accept(*, raw: str, username: str, password: str) -> User:
    """Create the invited person; PeopleRefused if link, address or name is no longer available."""
    invitation = _acceptable().select_for_update(of=("self",)).filter(digest=digest_of(raw)).first()
    if invitation is None or is_address_taken(invitation.email):
        raise PeopleRefused(_("This invitation is no longer valid. Ask for a new one."))
    if not _may_still_invite(invitation):
        raise PeopleRefused(_("This invitation is no longer valid. Ask for a new one."))
    person = _create(invitation, username, password)
    Invitation.objects.filter(pk=invitation.pk).update(accepted_at=Now(), person=person)
    details = _details(invitation)
    record(by=person, action="invitation.accepted", target=person.username, details=details)
    return person


def _may_still_invite(invitation: Invitation) -> bool:
    """Check again at acceptance, because the sender or the groups may have changed since."""
    sender: Actor = invitation.by
    if invitation.made_with is not None:
        sender = current_holder(invitation.made_with)
    if sender is None:
        return False
    try:
        _check_power(sender, invitation.role, invitation.groups.all())
    except PeopleRefused:
        return False
    return True


def _check_power(by: Actor, role: str, groups: Iterable[Group]) -> None:
    """Raise PeopleRefused if the invited person would have more power than the sender."""
    try:
        check_invitation(by, role, groups)
    except DelegationRefused as refused:
        raise PeopleRefused(str(refused)) from refused


def _acceptable() -> QuerySet[Invitation]:
    """Match open invitations whose sender may still invite with that role."""
    sender = Q(by__is_active=True, by__is_staff=True)
    may = Q(role=Invitation.Role.MEMBER) | Q(by__is_superuser=True)
    valid_maker = Q(made_with=None) | Q(made_with__in=ApiKey.objects.filter(IN_FORCE))
    return Invitation.objects.filter(OPEN, sender, may, valid_maker, expires_at__gt=Now())


def _create(invitation: Invitation, username: str, password: str) -> User:
    admin = invitation.role == Invitation.Role.ADMIN
    # The answer must not reveal whose address it is.
    if "@" in username and username.lower() != invitation.email:
        raise PeopleRefused(_("A name that contains @ must be your own e-mail address."))
    try:
        check_plain_name(username)
    except ValidationError as problem:
        raise PeopleRefused(problem.message) from problem
    if User.objects.filter(username__iexact=username).exists():
        raise PeopleRefused(_("This name is already taken."))
    try:
        with transaction.atomic():
            person = User.objects.create_user(
                username, invitation.email, password, is_staff=admin, is_superuser=admin
            )
    except IntegrityError:  # taken a moment ago
        raise PeopleRefused(_("This name is already taken.")) from None
    # The link went to the address, or the admin who vouches for it gave it on.
    EmailAddress.objects.create(user=person, email=invitation.email, verified=True, primary=True)
    person.groups.set(invitation.groups.all())
    join_default_groups(person=person)
    return person


def _details(invitation: Invitation) -> dict[str, object]:
    groups = invitation.groups.order_by("name", "pk").values_list("name", flat=True)
    return {"email": invitation.email, "role": invitation.role, "groups": list(groups)}
