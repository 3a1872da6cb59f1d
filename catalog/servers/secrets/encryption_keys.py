"""Encryption keys of secrets, from the environment or a file in the data folder.

Not Django's SECRET_KEY: that may change at any time and is known to every web process. Where a
secrets broker runs, it alone has the keys, and the others have the public half of the newest.
"""

import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives import hashes, hpke
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils.translation import gettext as _

# Sealed bytes: HPKE (RFC 9180) for the newest encryption key's public half. Pure.
#
# Whoever has the public half can seal, and only the keys open. Fernet tokens of earlier releases
# still open. An envelope is a version, the start of the key's fingerprint, and HPKE's message.

_VERSION = b"\x01"  # Fernet tokens begin with a "g"
_ID_BYTES = 8
_SUITE = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)
_INFO = b"pegboard secret"


class CannotOpenError(Exception):
    """No key opens these bytes, or they were changed."""


class OtherPurposeError(Exception):
    """The value was sealed for another row."""


def private_half(key: str) -> X25519PrivateKey:
    """Derive the key that opens envelopes; ValueError unless `key` is 32 bytes in base64."""
    Fernet(key)
    derived = HKDF(hashes.SHA256(), length=32, salt=None, info=b"pegboard sealing key")
    return X25519PrivateKey.from_private_bytes(derived.derive(urlsafe_b64decode(key)))


def public_text(key: str) -> str:
    """Return the public half of an encryption key, in base64."""
    return urlsafe_b64encode(private_half(key).public_key().public_bytes_raw()).decode()


def seal_value(value: str, *, purpose: str, public: str) -> bytes:
    """Seal a value along with its purpose."""
    return close_envelope(json.dumps([purpose, value]).encode(), public)


def open_value(sealed: bytes, *, purpose: str, keys: Sequence[str]) -> str:
    """Return a value; CannotOpenError or OtherPurposeError."""
    stored_purpose, value = json.loads(open_envelope(sealed, keys))
    if stored_purpose != purpose:
        raise OtherPurposeError
    return str(value)


def close_envelope(content: bytes, public: str) -> bytes:
    """Seal bytes for a public half; ValueError if it is none."""
    raw = urlsafe_b64decode(public)
    message = _SUITE.encrypt(content, X25519PublicKey.from_public_bytes(raw), _INFO)
    return _VERSION + _key_id(raw) + message


def open_envelope(sealed: bytes, keys: Sequence[str]) -> bytes:
    """Return the content by whichever key opens it, or raise CannotOpenError."""
    if not sealed.startswith(_VERSION):
        for key in keys:
            try:
                return Fernet(key).decrypt(sealed)
            except InvalidToken:
                continue
        raise CannotOpenError
    key_id, message = sealed[1 : 1 + _ID_BYTES], sealed[1 + _ID_BYTES :]
    for private in map(private_half, keys):
        if _key_id(private.public_key().public_bytes_raw()) == key_id:
            try:
                return _SUITE.decrypt(message, private, _INFO)
            except InvalidTag:
                break
    raise CannotOpenError


def _key_id(public: bytes) -> bytes:
    return sha256(public).digest()[:_ID_BYTES]


FILE = "encryption_keys"
# Below the data folder; `manage.py up` keeps the broker's socket there, too.
BROKER_FOLDER, SEALING_KEY_FILE = "broker", "sealing_key"


class SecretUnavailableError(Exception):
    """A secret cannot be encrypted or decrypted now."""

    code = "secret_unavailable"


def opening_keys() -> tuple[str, ...]:
    """Return all keys, newest first; SecretUnavailableError if there are none, or invalid ones."""
    keys = known_keys()
    if not keys:
        raise SecretUnavailableError(
            _("There is no encryption key for secrets. Set PEGBOARD_ENCRYPTION_KEYS.")
        )
    try:
        for key in keys:
            Fernet(key)
    except ValueError:
        raise SecretUnavailableError(
            _("An encryption key is invalid. Keys are 32 bytes in URL-safe base64.")
        ) from None
    return keys


def sealing_key() -> str:
    """Return the public half of the newest key, from the broker's file or derived here."""
    if not settings.PEGBOARD_SEALING_KEY:
        return public_text(opening_keys()[0])
    try:
        return Path(settings.PEGBOARD_SEALING_KEY).read_text().strip()
    except OSError:
        raise SecretUnavailableError(
            _("The sealing key cannot be read. The secrets service writes it when it starts.")
        ) from None


def publish_sealing_key(file: Path, key: str) -> None:
    """Write the public half of a key for the processes that only seal."""
    draft = file.with_suffix(".new")
    draft.write_text(public_text(key) + "\n")
    draft.replace(file)


def known_keys() -> tuple[str, ...]:
    """Return all keys, newest first."""
    return tuple(settings.PEGBOARD_ENCRYPTION_KEYS or _keys_in(key_file()))


def key_file() -> Path:
    """Return the key file, used if the environment has no keys: one per line, newest first."""
    return Path(settings.PEGBOARD_DATA_DIR) / FILE


def add_key(file: Path) -> None:
    """Prepend a new key to the file, creating it readable by its owner only."""
    draft = file.with_suffix(".new")
    draft.unlink(missing_ok=True)
    # O_EXCL and 0600 from the start: no other user can read or replace the draft.
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        stream.write("\n".join([Fernet.generate_key().decode(), *_keys_in(file)]) + "\n")
    draft.replace(file)
    # From here on secrets are sealed by the new key, whichever process does it.
    if (published := file.parent / BROKER_FOLDER / SEALING_KEY_FILE).exists():
        publish_sealing_key(published, _keys_in(file)[0])


def keep_first_key(file: Path) -> None:
    """Drop all keys from the file but the newest."""
    draft = file.with_suffix(".new")
    draft.touch(mode=0o600)
    draft.write_text(_keys_in(file)[0] + "\n")
    draft.replace(file)


def _keys_in(file: Path) -> list[str]:
    try:
        return [line.strip() for line in file.read_text().splitlines() if line.strip()]
    except FileNotFoundError:
        return []
    except OSError:
        raise SecretUnavailableError(
            _("The file with the encryption keys cannot be read.")
        ) from None
