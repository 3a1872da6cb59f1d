"""Missing scopes named by a refused request (RFC 6750, section 3.1). Needs no database."""

import re

import httpx2
from mcp.client.auth.utils import extract_field_from_www_auth

MAX_SCOPES = 50
_MAX_SCOPE_CHARACTERS = 200
_TOKEN = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")  # RFC 6749, section 3.3


def read_missing_scopes(response: httpx2.Response) -> str | None:
    """Return the missing scopes named by a response, or None for other responses."""
    if response.status_code not in (401, 403):
        return None
    if extract_field_from_www_auth(response, "error") != "insufficient_scope":
        return None
    return merge_scopes(extract_field_from_www_auth(response, "scope") or "")


def merge_scopes(*scopes: str) -> str:
    """Merge scopes, dropping duplicates and invalid ones."""
    words = [word for scope in scopes for word in scope.split() if _TOKEN.fullmatch(word)]
    return " ".join(
        [word for word in dict.fromkeys(words) if len(word) <= _MAX_SCOPE_CHARACTERS][:MAX_SCOPES]
    )
