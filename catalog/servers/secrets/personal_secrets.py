"""Where a person may use secrets of their own: what they may use, and what allows that."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import QuerySet

from acl.rights.caller import Caller
from catalog.models import Capability, Integration, OAuthConnection
from catalog.servers.oauth.oauth_accounts import account_of
from catalog.servers.secrets.secret_store import SecretState, secret_states


@dataclass(frozen=True, slots=True)
class Mine:
    """An integration, and which of its secrets are the person's own."""

    integration: Integration
    secrets: tuple[SecretState, ...]
    account: OAuthConnection | None


def list_my_secrets(*, caller: Caller, user: User) -> list[Mine]:
    """Each integration of theirs that takes secrets or accounts of their own."""
    rows = _allowed(caller).order_by("title", "pk")
    return [_mine(row, user) for row in rows]


def find_my_secrets(*, caller: Caller, user: User, slug: str) -> Mine | None:
    """One of them; None where there is none, it is not theirs, or it takes none."""
    row = _allowed(caller).filter(slug=slug).first()
    return _mine(row, user) if row else None


def _mine(row: Integration, user: User) -> Mine:
    return Mine(row, tuple(secret_states(row, user=user)), account_of(row, user))


def _allowed(caller: Caller) -> "QuerySet[Integration]":
    usable = Capability.objects.usable_by(caller, unavailable=True)
    return Integration.objects.filter(own_secrets=True, pk__in=usable.values("integration"))
