"""Sealed bytes: HPKE (RFC 9180) for the newest encryption key's public half. Pure.

Whoever has the public half can seal, and only the keys open. Fernet tokens of earlier releases
still open. An envelope is a version, the start of the key's fingerprint, and HPKE's message.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from hashlib import sha256

from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives import hashes, hpke
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

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
