"""Encryption keys of secrets, from the environment or a file in the data folder.

Not Django's SECRET_KEY: that may change at any time and is known to every web process. Where a
secrets broker runs, it alone has the keys, and the others have the public half of the newest.
"""

import os
from pathlib import Path

from cryptography.fernet import Fernet
from django.conf import settings
from django.utils.translation import gettext as _

from catalog.servers.secrets.envelope import public_text

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
