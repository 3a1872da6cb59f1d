"""Service accounts: users that are programs."""

from datetime import datetime

from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db import transaction

from acl.models import ApiKey, ServiceAccount
from acl.services.audit import record
from acl.services.keys import create_key


class ServiceAccountRefused(Exception):
    """There cannot be a service account of this name."""


@transaction.atomic
def create_service_account(
    *, by: User | None, name: str, group: Group, description: str = ""
) -> User:
    """A user of the group that keys can belong to, and that nobody can sign in as."""
    user = User(username=User.normalize_username(name))
    user.set_unusable_password()
    try:
        user.full_clean()
    except ValidationError as problem:
        raise ServiceAccountRefused(" ".join(problem.messages)) from problem
    user.save()
    user.groups.add(group)
    ServiceAccount.objects.create(user=user, description=description)
    record(
        by=by,
        action="service_account.created",
        target=name,
        details={"group": group.name, "description": description},
    )
    return user


@transaction.atomic
def create_account_with_key(
    *,
    by: User | None,
    account: str,
    description: str,
    name: str,
    group: Group,
    scopes: list[str],
    acts_for_users: bool = False,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """A new service account and its first key, with the key's text; or neither."""
    owner = create_service_account(by=by, name=account, group=group, description=description)
    return create_key(
        by=by,
        name=name,
        group=group,
        scopes=scopes,
        owner=owner,
        acts_for_users=acts_for_users,
        expires_at=expires_at,
    )
