"""Metadata of the authorization server (RFC 8414)."""

from typing import Any

from django.urls import reverse

from acl.oauth.connections import SCOPES


def server_metadata(origin: str) -> dict[str, Any]:
    """Return the document of the server at `origin`, which is its issuer too."""
    return {
        "issuer": origin,
        "authorization_endpoint": origin + reverse("oauth-authorize"),
        "token_endpoint": origin + reverse("oauth-token"),
        "registration_endpoint": origin + reverse("oauth-register"),
        "revocation_endpoint": origin + reverse("oauth-revoke"),
        "scopes_supported": list(SCOPES),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": True,
    }
