"""Two-factor codes for django-allauth, with their secrets encrypted in the database."""

from base64 import b32encode, urlsafe_b64encode
from hashlib import sha256
from secrets import token_bytes

from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.contrib.auth.models import User
from django.utils.encoding import force_bytes
from django.utils.translation import gettext_lazy as _


class CodesAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth has no types
    """Adapter for allauth's codes."""

    error_messages = {
        **DefaultMFAAdapter.error_messages,
        "incorrect_code": _("This code is wrong or has expired. Each code works only once."),
        "cannot_generate_recovery_codes": _("Turn on two-factor authentication first."),
    }

    def get_totp_label(self, user: User) -> str:
        """Return the account's label for authenticator apps."""
        return user.get_username()

    def encrypt(self, text: str) -> str:
        """Encrypt a secret for storage."""
        return _box().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Decrypt a secret.

        After a change of PEGBOARD_SECRET_KEY no code matches: an admin must turn the codes off, and
        the person must turn them on again.
        """
        try:
            return _box().decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            return b32encode(token_bytes(20)).decode()  # a known value would let anyone in


def _box() -> Fernet:
    key = sha256(b"pegboard codes " + force_bytes(settings.SECRET_KEY)).digest()
    return Fernet(urlsafe_b64encode(key))
