"""Service accounts: users that are programs, without a password or a sign-in."""

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.keys.lifecycle import create_key
from acl.models import ApiKey, ServiceAccount
from acl.people.people import is_name_taken
from acl.rights.delegation import Actor, check_groups, hold_credential
from acl.visible_text.pieces import check_plain_name


class ServiceAccountRefused(Exception):
    """Refused name of a service account."""


@transaction.atomic
def create_service_account(
    *, by: Actor, name: str, groups: Sequence[Group], description: str = ""
) -> User:
    """Create a service account in the groups. Nobody can sign in as it.

    Raises DelegationRefused where membership would bring power that `by` does not have.
    """
    hold_credential(by)
    check_groups(by, groups)
    user = User(username=User.normalize_username(name))
    user.set_unusable_password()
    try:
        user.full_clean()
        check_plain_name(user.username)
    except ValidationError as problem:
        raise ServiceAccountRefused(" ".join(problem.messages)) from problem
    if is_name_taken(user.username):
        raise ServiceAccountRefused(_("This name or address is already taken."))
    user.save()
    user.groups.add(*groups)
    ServiceAccount.objects.create(user=user, description=description)
    record(
        by=by,
        action="service_account.created",
        target=name,
        details={"groups": [group.name for group in groups], "description": description},
        groups=[group.pk for group in groups],
    )
    return user


@transaction.atomic
def create_account_with_key(
    *,
    by: Actor,
    account: str,
    description: str,
    name: str,
    groups: Sequence[Group],
    scopes: list[str],
    acts_for_users: bool = False,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """Create a service account and its first key together; return the key and its text."""
    owner = create_service_account(by=by, name=account, groups=groups, description=description)
    return create_key(
        by=by,
        name=name,
        groups=groups,
        scopes=scopes,
        owner=owner,
        acts_for_users=acts_for_users,
        expires_at=expires_at,
    )


class PeopleOnly:
    """Password validator that refuses service accounts.

    The database refuses them, too; this shows the reason beside the field.
    """

    def validate(self, password: str, user: User | None = None) -> None:
        """Refuse every password of a service account."""
        if user is not None and user.pk and ServiceAccount.objects.filter(pk=user.pk).exists():
            raise ValidationError(self.get_help_text(), code="service_account")

    def get_help_text(self) -> str:
        """Return the rule's help text."""
        return _("A service account has no password: it signs in with API keys.")
