"""Integrations where a person may use personal secrets or accounts."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import QuerySet

from acl.rights.caller import Caller
from catalog.models import Capability, Integration, OAuthConnection
from catalog.servers.oauth.oauth_accounts import find_account
from catalog.servers.secrets.secret_store import SecretState, list_secret_states


@dataclass(frozen=True, slots=True)
class PersonalSecrets:
    """An integration with a person's own secrets and account."""

    integration: Integration
    secrets: tuple[SecretState, ...]
    account: OAuthConnection | None


def list_my_secrets(*, caller: Caller, user: User) -> list[PersonalSecrets]:
    """List the integrations that accept personal secrets, of any space the caller works in."""
    rows = _allowed(caller).order_by("title", "pk")
    return [_personal_secrets(row, user) for row in rows]


def find_my_secrets(*, caller: Caller, user: User, slug: str) -> PersonalSecrets | None:
    """Return one of them, or None."""
    row = _allowed(caller).filter(slug=slug).first()
    return _personal_secrets(row, user) if row else None


def _personal_secrets(row: Integration, user: User) -> PersonalSecrets:
    return PersonalSecrets(row, tuple(list_secret_states(row, user=user)), find_account(row, user))


def _allowed(caller: Caller) -> "QuerySet[Integration]":
    # A secret belongs to the person and to no space, and the pages know no spaces. So the link
    # from a tool that only the rule of a space allows leads here, too.
    reachable = Capability.objects.reachable_by(caller, unavailable=True)
    return Integration.objects.filter(own_secrets=True, pk__in=reachable.values("integration"))
