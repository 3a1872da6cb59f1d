"""Settings of mail and sign-in that Django and django-allauth expect, from Pegboard's own."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from acl.people.oidc import PROVIDER

# Django's mail settings from PEGBOARD_EMAIL_URL.

PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}


def mail_settings(url: str) -> dict[str, Any]:
    """Return mail settings for `url`. Without one, mails are written to the console.

    smtp+tls uses STARTTLS, smtps uses TLS from the start, and smtp neither.
    """
    if not url:
        return {"EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"}
    parts = urlsplit(url)
    return {
        "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": parts.port or PORTS[parts.scheme],
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_TLS": parts.scheme == "smtp+tls",
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_TIMEOUT": 10,
    }


# django-allauth's settings for the OpenID Connect provider.


def group_mapping(pairs: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Split `value=group` pairs at the last "=": values may contain one, group names rarely do."""
    split = (pair.rpartition("=") for pair in pairs)
    return tuple((value.strip(), group.strip()) for value, _, group in split)


def no_group_mapping(text: str) -> str:
    """Return "" if `text` lists value=group pairs, else an error message."""
    pairs = group_mapping(part for part in text.split(",") if part.strip())
    if all(value and group for value, group in pairs):
        return ""
    return "must be like staff=Everyone, support-team=Support"


def providers(env: Mapping[str, Any]) -> dict[str, Any]:
    """Return allauth's provider configuration, or {} if no provider is set."""
    if not env["PEGBOARD_OIDC_ISSUER"]:
        return {}
    app = {
        "provider_id": PROVIDER,
        "name": env["PEGBOARD_OIDC_NAME"],
        "client_id": env["PEGBOARD_OIDC_CLIENT_ID"],
        "secret": env["PEGBOARD_OIDC_CLIENT_SECRET"],
        "settings": {"server_url": env["PEGBOARD_OIDC_ISSUER"].rstrip("/")},
    }
    return {
        "openid_connect": {
            "APPS": [app],
            "OAUTH_PKCE_ENABLED": True,
            "SCOPE": list(env["PEGBOARD_OIDC_SCOPES"]),
        }
    }
