"""Encryption keys of secrets, from the environment or a file in the data folder.

Not Django's SECRET_KEY: that may change at any time and is known to every web process.
"""

import os
from pathlib import Path

from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.utils.translation import gettext as _

FILE = "encryption_keys"


class SecretUnavailableError(Exception):
    """A secret cannot be encrypted or decrypted now."""

    code = "secret_unavailable"


def cipher() -> MultiFernet:
    """Return a cipher that encrypts with the first key and decrypts with any."""
    keys = known_keys()
    if not keys:
        raise SecretUnavailableError(
            _("There is no encryption key for secrets. Set PEGBOARD_ENCRYPTION_KEYS.")
        )
    try:
        return MultiFernet([Fernet(key) for key in keys])
    except ValueError:
        raise SecretUnavailableError(
            _("An encryption key is invalid. Keys are 32 bytes in URL-safe base64.")
        ) from None


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
    with os.fdopen(descriptor, "w") as written:
        written.write("\n".join([Fernet.generate_key().decode(), *_keys_in(file)]) + "\n")
    draft.replace(file)


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
