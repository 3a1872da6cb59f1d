"""Checks of URLs in settings. They return the end of "PEGBOARD_… must be", or "".

URLs may contain passwords, so messages repeat no part of them.
"""

from email.utils import parseaddr
from urllib.parse import SplitResult, urlsplit

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
