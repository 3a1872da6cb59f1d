"""Checks of values in settings. They return "" or an error message, such as "must be …".

URLs may contain passwords, so messages repeat no part of them, and none of a key.
"""

import base64
import binascii
from collections.abc import Iterable
from email.utils import parseaddr
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from django.conf.locale import LANG_INFO
from django.utils.translation import to_language

# Languages of the pages: English, and each language that has a catalogue of messages.

ENGLISH = ("en", "English")


def available_languages(catalogues: Path) -> list[tuple[str, str]]:
    """Return (code, name in that language), English first.

    A catalogue `<locale>/LC_MESSAGES/django.po` is all that a language needs.
    """
    locales = sorted(path.parts[-3] for path in catalogues.glob("*/LC_MESSAGES/django.po"))
    return [ENGLISH, *((code, _own_name(code)) for code in map(to_language, locales))]


def _own_name(code: str) -> str:
    info = LANG_INFO.get(code, LANG_INFO.get(code.split("-")[0], {}))
    return str(info.get("name_local", code))


CATALOGUES = Path(__file__).parents[1] / "locale"
LEAST_PASSWORD = 10
MAIL_SCHEMES = {"smtp", "smtp+tls", "smtps"}


def no_postgres_url(text: str) -> str:
    """Return "" for postgresql://user:password@host:5432/name, else an error message."""
    parts = _parts(text)
    if parts and parts.scheme in {"postgresql", "postgres"} and len(parts.path) > 1:
        return ""
    return "must be like postgresql://user:password@host:5432/name"


def no_redis_url(text: str) -> str:
    """Return "" for redis://host:6379/0, rediss:// or unix:///path, else an error message."""
    parts = _parts(text)
    if parts and parts.scheme in {"redis", "rediss"} and parts.hostname:
        return ""
    if parts and parts.scheme == "unix" and len(parts.path) > 1:
        return ""
    return "must be like redis://host:6379/0, rediss://host:6379/0 or unix:///path/to/socket"


def no_web_url(text: str) -> str:
    """Return "" for https://host/path or http://host/path, else an error message."""
    parts = _parts(text)
    if parts and parts.scheme in {"https", "http"} and parts.hostname:
        return ""
    return "must begin with https:// or http:// and a host"


def no_anchor(text: str) -> str:
    """Return "" for an absolute path, `syslog` or a web address, else an error message."""
    if text == "syslog" or (text.startswith("/") and len(text) > 1) or not no_web_url(text):
        return ""
    return "must be the whole path of a file, syslog, or an address that begins with https://"


def no_mail_url(text: str) -> str:
    """Return "" for smtp://user:password@host:port, smtp+tls:// or smtps://, else an error."""
    parts = _parts(text)
    if parts and parts.scheme in MAIL_SCHEMES and parts.hostname and not parts.path.strip("/"):
        return ""
    return "must be like smtp+tls://user:password@host:587, smtps://host:465 or smtp://host:25"


def no_sender(text: str) -> str:
    """Return "" for an e-mail address with or without a name, else an error message."""
    name, _, domain = parseaddr(text)[1].rpartition("@")
    if name and domain and "\n" not in text:
        return ""
    return "must be like Pegboard <pegboard@example.com>"


def _parts(text: str) -> SplitResult | None:
    """Split a URL; None if it is invalid or its port is."""
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - it raises
    except ValueError:
        return None
    return parts


def hosts_with_ports(texts: Iterable[str]) -> tuple[tuple[str, int | None], ...]:
    """Split `mcp.internal`, `10.0.0.5:8080` or `[::1]:8080`; port None means any port."""
    return tuple(_split(text) for text in texts)


def no_hosts(text: str) -> str:
    """Return "" if `text` lists hosts or host:port, else an error message."""
    try:
        pairs = hosts_with_ports(part.strip() for part in text.split(",") if part.strip())
    except ValueError:
        pairs = (("", None),)
    if all(host and not set(host) & set("/@*?# ") for host, _ in pairs):
        return ""
    return "must be like mcp.internal, 10.0.0.5:8080, [::1]:8080"


def no_package_hosts(text: str) -> str:
    """Return "" if `text` lists hosts or host:port, or is `*`, else an error message."""
    return "" if text.strip() == "*" else no_hosts(text)


def _split(text: str) -> tuple[str, int | None]:
    if any(sign in text for sign in "/@?#"):
        raise ValueError(text)
    parts = urlsplit(f"//{text}")
    return parts.hostname or "", parts.port


def no_encryption_keys(text: str) -> str:
    """Return "" if `text` lists valid keys, else an error message."""
    if all(_is_key(part.strip()) for part in text.split(",") if part.strip()):
        return ""
    return "must be keys of 32 bytes each, in URL-safe base64"


def _is_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text, altchars=b"-_", validate=True)) == 32
    except (binascii.Error, ValueError):
        return False


def no_folders(text: str) -> str:
    """Return "" if `text` lists absolute paths, else an error message."""
    paths = [part.strip() for part in text.split(",") if part.strip()]
    if all(Path(path.removesuffix(":rw")).is_absolute() for path in paths):
        return ""
    return "must be whole paths of folders, such as /srv/documents or /srv/notes:rw"


def no_file(text: str) -> str:
    """Return "" if `text` is an existing file, else an error message."""
    return "" if Path(text).is_file() else f"must be a file that exists, not {text}"


def no_language(text: str) -> str:
    """Return "" if `text` is the code of a language that pages have, else an error message."""
    codes = [code for code, _ in available_languages(CATALOGUES)]
    return "" if text in codes else f"must be one of {', '.join(codes)}, not {text!r}"


def no_password(text: str) -> str:
    """Return "" if `text` is long enough for a password, else an error message."""
    return "" if len(text) >= LEAST_PASSWORD else f"must have {LEAST_PASSWORD} characters or more"
