"""Questions to the secrets broker, and its refusals in words."""

from dataclasses import dataclass
from enum import StrEnum

from django.utils.translation import gettext as _

from catalog.servers.secrets.encryption_keys import SecretUnavailableError


@dataclass(frozen=True, slots=True)
class SealedValue:
    """Sealed bytes, and the purpose that they were sealed for: whose secret of which server."""

    purpose: str
    sealed: bytes


class Refusal(StrEnum):
    """Reasons to refuse a value."""

    NO_KEY = "no_key"
    OTHER_USE = "other_use"
    NOT_NOW = "not_now"
    TOO_MANY = "too_many"
    NO_ANSWER = "no_answer"


def refused(why: str) -> SecretUnavailableError:
    """Return the error for a refusal, worded for people."""
    words = {
        Refusal.NO_KEY: _("A secret was encrypted with a key that no longer exists. Set it again."),
        Refusal.OTHER_USE: _("A secret was encrypted for another use. Set it again."),
        Refusal.NOT_NOW: _("The secrets broker refused: no call or connection needs this secret."),
        Refusal.TOO_MANY: _("The secrets broker opened too many secrets. Try again in a minute."),
    }
    silent = _("The secrets broker does not respond. Try again in a moment.")
    return SecretUnavailableError(words.get(why, silent))  # type: ignore[call-overload]
