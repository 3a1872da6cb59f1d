"""How codes at sign-in work here: their secrets are not readable in the database."""

from base64 import b32encode, urlsafe_b64encode
from hashlib import sha256
from secrets import token_bytes

from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.contrib.auth.models import User
from django.utils.encoding import force_bytes


class CodesAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth has no types
    """django-allauth's questions about codes, answered."""

    error_messages = {
        **DefaultMFAAdapter.error_messages,
        "incorrect_code": "This code does not fit. Each counts once, and not for long.",
        "cannot_generate_recovery_codes": "Turn on codes at sign-in first.",
    }

    def get_totp_label(self, user: User) -> str:
        """Whose codes these are, in the app that shows them."""
        return user.get_username()

    def encrypt(self, text: str) -> str:
        """The secret as it is stored."""
        return _box().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """The secret again. After PEGBOARD_SECRET_KEY has changed no code fits any longer: an
        admin turns codes off, and the person on again."""
        try:
            return _box().decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            return b32encode(token_bytes(20)).decode()  # anything that is known would let one in


def _box() -> Fernet:
    key = sha256(b"pegboard codes " + force_bytes(settings.SECRET_KEY)).digest()
    return Fernet(urlsafe_b64encode(key))
