"""What is wrong with the address of a server, in words that end "PEGBOARD_… must be".

Passwords are in these addresses: no answer repeats more of one than its scheme.
"""

from email.utils import parseaddr
from urllib.parse import SplitResult, urlsplit

MAIL_SCHEMES = {"smtp", "smtp+tls", "smtps"}


def no_postgres_url(text: str) -> str:
    """Nothing where `text` is postgresql://user:password@host:5432/name; else what it must be."""
    parts = _parts(text)
    if parts and parts.scheme in {"postgresql", "postgres"} and len(parts.path) > 1:
        return ""
    return "must be like postgresql://user:password@host:5432/name"


def no_redis_url(text: str) -> str:
    """Nothing where `text` is redis://host:6379/0, rediss:// or unix:///path; else what it must
    be."""
    parts = _parts(text)
    if parts and parts.scheme in {"redis", "rediss"} and parts.hostname:
        return ""
    if parts and parts.scheme == "unix" and len(parts.path) > 1:
        return ""
    return "must be like redis://host:6379/0, rediss://host:6379/0 or unix:///path/to/socket"


def no_web_url(text: str) -> str:
    """Nothing where `text` is https://host/path or http://host/path; else what it must be."""
    parts = _parts(text)
    if parts and parts.scheme in {"https", "http"} and parts.hostname:
        return ""
    return "must begin with https:// or http:// and a host"


def no_anchor(text: str) -> str:
    """Nothing where `text` is a file's whole path, `syslog` or a web address; else what it must
    be."""
    if text == "syslog" or (text.startswith("/") and len(text) > 1) or not no_web_url(text):
        return ""
    return "must be the whole path of a file, syslog, or an address that begins with https://"


def no_mail_url(text: str) -> str:
    """Nothing where `text` is smtp://user:password@host:port, smtp+tls:// or smtps://; else what it
    must be."""
    parts = _parts(text)
    if parts and parts.scheme in MAIL_SCHEMES and parts.hostname and not parts.path.strip("/"):
        return ""
    return "must be like smtp+tls://user:password@host:587, smtps://host:465 or smtp://host:25"


def no_sender(text: str) -> str:
    """Nothing where `text` is an address, perhaps with a name before it; else what it must be."""
    name, _, domain = parseaddr(text)[1].rpartition("@")
    if name and domain and "\n" not in text:
        return ""
    return "must be like Pegboard <pegboard@example.com>"


def _parts(text: str) -> SplitResult | None:
    """None where it is no address at all, or has an impossible port."""
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - it raises
    except ValueError:
        return None
    return parts
