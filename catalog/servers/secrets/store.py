"""Storage of secrets: people set and delete them, but never read them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.rights.caller_lookup import Caller
from catalog.formats.header_names import DeclaredBy, can_be_sent
from catalog.models import Capability, Integration, OAuthConnection, Secret
from catalog.models.oauth_tables import RESERVED_PREFIX
from catalog.readiness.obstacles import NEEDING_SIGN_IN
from catalog.servers.client.variable_rules import refusal_reason
from catalog.servers.oauth.accounts import find_account
from catalog.servers.secrets.sealed_values import seal

# Secrets as people paste them: without blanks, line ends, and what the request says already.
# `Bearer abc`, `X-Key: abc` and a file read whole mean the key in them. What is sent in a header
# and cannot be in one is refused when it is set, not blamed on the server later.

_SENDABLE = re.compile(r"[\x20-\x7e\x80-\xff]*")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token)\s+", re.IGNORECASE)
_AUTHORIZATION = "Authorization"
# Around a value that was copied from a page, a command or a file: what is seen by nobody, an option
# of curl, and quotes, in which no key begins and ends.
_EDGES = " \t\r\n\f\v\u00a0\ufeff\u200b\u200c\u200d\u2060\u00ad\u200e\u200f"
_OPTION = re.compile(r"\A(?:-H|--header)[= \t]*(?=[\"'])")
_QUOTES = {'"': '"', "'": "'", "`": "`", "\u201c": "\u201d", "\u2018": "\u2019"}
_IN_BRACES = re.compile(r"\{\s*(\"[\w-]{1,100}\"\s*:\s*\"[^\"\\]*\")\s*,?\s*\}")
_MOST_LAYERS = 4


class UnsendableValueError(Exception):
    """The value cannot be part of a header. The message says why."""


def as_pasted(integration: Integration, name: str, value: str) -> str:
    """Return the secret that was pasted, as the request has it. Raises UnsendableValueError."""
    value = value.strip(_EDGES)
    value = _without(value, "=", name, f"export {name}", f"set {name}", f"$env:{name}")
    for header, before in header_places(integration, name):
        value = _peeled(value)
        value = match.group(1) if (match := _IN_BRACES.fullmatch(value)) else value
        value = _without(value, ":", header)
        is_account = header.lower() == _AUTHORIZATION.lower()
        if is_account:
            value = _without(value, ":", _AUTHORIZATION)
        if before.strip() and (scheme := _SCHEME.match(value)):
            value = value[scheme.end() :]
        elif is_account and not before and value and integration.transport in ("http", "sse"):
            # MCP signs in with bearer tokens, so a word alone is one.
            value = value if re.search(r"\s", value) else f"Bearer {value}"
        if not _SENDABLE.fullmatch(value):
            raise UnsendableValueError(
                _("It is sent in a header, which cannot have line breaks or these characters.")
            )
    return value


def header_places(integration: Integration, name: str) -> Iterator[tuple[str, str]]:
    """Yield each header that has the secret, with the text before it."""
    if integration.transport == "stdio":
        return
    security = integration.source_ref.get("security")
    for scheme in security.values() if isinstance(security, dict) else ():
        if name in scheme.get("secrets", ()) and scheme["as"] in ("bearer", "header"):
            is_bearer = scheme["as"] == "bearer"
            yield (_AUTHORIZATION, "Bearer ") if is_bearer else (str(scheme["name"]), "")
    headers = integration.source_ref.get("headers")
    if isinstance(headers, dict):
        for header, template in headers.items():
            before, gap, _rest = str(template).partition(f"${{{name}}}")
            if gap:
                yield str(header), before
    elif integration.transport in ("http", "sse") and f"${{{name}}}" not in integration.endpoint:
        is_header = "-" in name or name.lower() == _AUTHORIZATION.lower()
        if is_header and can_be_sent(name, DeclaredBy.SERVER):
            yield name, ""
        elif integration.required_secrets in ([], [name]):
            yield _AUTHORIZATION, "Bearer "


def _without(value: str, sign: str, *names: str) -> str:
    """Return what follows one of the names and the sign, where the value begins with them."""
    before, found_sign, after = value.partition(sign)
    words = " ".join(_peeled(before).split()).lower()
    is_named = found_sign and words in {name.lower() for name in names}
    after = _peeled(after)
    return after if is_named and after else value


def _peeled(value: str) -> str:
    """Return a value without what is around it where it was copied from."""
    for _layer in range(_MOST_LAYERS):
        value = _OPTION.sub("", value.strip(_EDGES))
        if value[-1:] in (",", ";") and value[-2:-1] in _QUOTES.values():
            value = value[:-1]
        inner = value[1:-1]
        if inner and _QUOTES.get(value[0]) == value[-1] and value[0] not in inner:
            value = inner
    return value


MOST_CHARACTERS = 16_384
MOST_OF_NAME = 120


class UnusableSecretError(Exception):
    """The name or value fits no environment variable or header."""


@dataclass(frozen=True, slots=True)
class SecretState:
    """The name of a secret, and when it was set, if at all."""

    name: str
    set_at: datetime | None


@transaction.atomic
def set_secret(
    *, integration: Integration, name: str, value: str, by: User, user: User | None = None
) -> None:
    """Store a personal or shared secret, replacing the previous one."""
    try:
        value = as_pasted(integration, name, value)
    except UnsendableValueError as refused:
        raise UnusableSecretError(str(refused)) from None
    _check(name, value)
    if integration.transport == "stdio" and (why := refusal_reason(name)):
        raise UnusableSecretError(
            _("Pegboard does not set the variable %(name)r: it %(why)s.")
            % {"name": name, "why": why}
        )
    row = Secret(integration=integration, user=user, name=name)
    sealed = seal(value, purpose=row.purpose)
    Secret.objects.update_or_create(
        integration=integration, user=user, name=name, defaults={"sealed": sealed}
    )
    forget_sign_in_problem(integration)
    _record("secret.set", integration, name, by, user)


def forget_sign_in_problem(integration: Integration) -> None:
    """Allow the next call: the refused secret or account may have been replaced."""
    refused = Integration.objects.filter(pk=integration.pk, problem__in=NEEDING_SIGN_IN)
    refused.update(problem="")


@transaction.atomic
def forget_secret(
    *, integration: Integration, name: str, by: User, user: User | None = None
) -> bool:
    """Delete a secret; return False if there was none."""
    gone, _ = Secret.objects.filter(integration=integration, user=user, name=name).delete()
    if gone:
        _record("secret.forget", integration, name, by, user)
    return bool(gone)


@transaction.atomic
def set_own_secrets(*, by: User | None, integration: Integration, allowed: bool) -> bool:
    """Allow or forbid personal secrets; stored ones are kept but unused while forbidden."""
    rows = Integration.objects.filter(pk=integration.pk).exclude(own_secrets=allowed)
    changed = bool(rows.update(own_secrets=allowed))
    if changed:
        details = {"allowed": allowed}
        record(by=by, action="secret.own", target=integration.slug, details=details)
    return changed


def list_secret_states(integration: Integration, *, user: User | None = None) -> list[SecretState]:
    """List the required and the set secrets, personal or shared, without values.

    A person whose own values go alone needs one of each name that is shared, too.
    """
    rows = Secret.objects.filter(integration=integration, user=user)
    rows = rows.exclude(name__startswith=RESERVED_PREFIX)
    set_at = dict(rows.values_list("name", "set_at"))
    in_use = Secret.objects.for_use(integration, user_id=user.pk if user else None)
    needed = (*integration.required_secrets, *in_use.withheld)
    names = dict.fromkeys([*needed, *sorted(set_at)])
    return [SecretState(name, set_at.get(name)) for name in names]


def _check(name: str, value: str) -> None:
    if not name or len(name) > MOST_OF_NAME or name.startswith(RESERVED_PREFIX):
        raise UnusableSecretError(_("A secret cannot have this name."))
    if not value:
        raise UnusableSecretError(_("Enter the secret."))
    if len(value) > MOST_CHARACTERS:
        raise UnusableSecretError(
            _("A secret may have at most %(limit)s characters.")
            % {"limit": number_format(MOST_CHARACTERS, force_grouping=True)}
        )
    # Line breaks are allowed for private keys, which programs read.
    if not value.replace("\n", "").replace("\r", "").isprintable():
        raise UnusableSecretError(_("A secret must not contain control characters."))


def _record(action: str, integration: Integration, name: str, by: User, user: User | None) -> None:
    details = {"name": name, "for": user.get_username() if user else "everyone"}
    person = user.pk if user else None
    record(by=by, action=action, target=integration.slug, details=details, person=person)


# Integrations where a person may use personal secrets or accounts.


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
