"""Chat models as admins keep them: each change has an audit entry, and none has the key."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.platform.answer_model import FieldRefused
from catalog.formats.secret_redaction import word_address
from catalog.servers.net.address_check import AllowedHosts, EndpointNotAllowedError, check_address
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from catalog.servers.secrets.sealed_values import seal
from discovery.chats.providers.registry import APIS
from discovery.models import ChatModel

MOST_MODELS = 50
MOST_OF_KEY = 4_096


class ModelRefusedError(FieldRefused):
    """The model cannot be stored. `field` names what is wrong."""


@dataclass(frozen=True, slots=True)
class WantedModel:
    """A chat model to store. Without an address it is the provider's own, without a key the
    stored one."""

    name: str
    provider: str
    model_id: str
    address: str = ""
    key: str = ""
    groups: Sequence[Group] = ()
    daily_tokens: int = 200_000


@transaction.atomic
def set_model(*, by: User | None, values: WantedModel) -> ChatModel:
    """Store a model, in place of one with its name. Raises ModelRefusedError."""
    name = values.name.strip()
    row = ChatModel.objects.select_for_update().filter(name=name).first()
    address = _checked_address(values)
    _check_key(values, row, address)
    if row is None and ChatModel.objects.count() >= MOST_MODELS:
        raise ModelRefusedError(
            "name", _("There are %(most)s models, which is the limit.") % {"most": MOST_MODELS}
        )
    row = row or ChatModel(name=name)
    row.provider, row.address = values.provider, address
    row.model_id, row.daily_tokens = values.model_id.strip(), values.daily_tokens
    _store(row, values.key)
    row.groups.set(values.groups)
    _record("chat_model.set", row, by, new_key=bool(values.key))
    return row


@transaction.atomic
def delete_model(*, by: User | None, model: ChatModel) -> None:
    """Delete a model with its key. Its chats stay, and get no more answers."""
    _record("chat_model.deleted", model, by)
    model.delete()


def _checked_address(values: WantedModel) -> str:
    if values.provider not in APIS:
        raise ModelRefusedError("provider", _("There is no such provider."))
    address = (values.address.strip() or APIS[values.provider].ADDRESS).rstrip("/")
    if not address:
        raise ModelRefusedError("address", _("Enter the address of the model's server."))
    try:
        parsed = check_address(address, AllowedHosts.from_settings())
    except EndpointNotAllowedError as refusal:
        raise ModelRefusedError("address", str(refusal)) from None
    if parsed.query or parsed.fragment:
        raise ModelRefusedError("address", _("The address must not have a query."))
    return address


def _check_key(values: WantedModel, row: ChatModel | None, address: str) -> None:
    """Check the key. A stored one goes to no other address: whoever set it meant this one."""
    if not values.key.isascii() or not values.key.isprintable() or " " in values.key:
        raise ModelRefusedError("key", _("A key has letters, digits and signs, and no spaces."))
    if values.key:
        return
    same = row is not None and (row.provider, row.address) == (values.provider, address)
    if row is not None and row.sealed_key and not same:
        raise ModelRefusedError("key", _("The address is another one, so enter the key again."))
    if APIS[values.provider].NEEDS_KEY and not same:
        raise ModelRefusedError("key", _("Enter the provider's key."))


def _store(row: ChatModel, key: str) -> None:
    if row._state.adding:
        # The purpose has the row's key in it, so the row comes first.
        row.sealed_key = b"pending" if key else b""
        row.save()
    if key:
        try:
            row.sealed_key = seal(key, purpose=row.key_purpose)
        except SecretUnavailableError as problem:
            raise ModelRefusedError("key", str(problem)) from None
    row.save()


def _record(action: str, row: ChatModel, by: User | None, **details: object) -> None:
    facts = {
        "provider": row.provider,
        "address": word_address(row.address),
        "model": row.model_id,
        "groups": row.group_names,
        "daily_tokens": row.daily_tokens,
        **details,
    }
    record(by=by, action=action, target=row.name, details=facts)
