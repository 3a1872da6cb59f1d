"""Missing scopes as a refusal names them (RFC 6750, section 3.1). No database is asked."""

import re

import httpx2
from mcp.client.auth.utils import extract_field_from_www_auth

MOST_SCOPES = 50
_LONGEST = 200
_TOKEN = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")  # RFC 6749, section 3.3


def challenged_scope(response: httpx2.Response) -> str | None:
    """Return the scopes that an answer says are missing; None where it is about something else."""
    if response.status_code not in (401, 403):
        return None
    if extract_field_from_www_auth(response, "error") != "insufficient_scope":
        return None
    return united(extract_field_from_www_auth(response, "scope") or "")


def united(*scopes: str) -> str:
    """Return all of these scopes, each once; what is no scope is left out."""
    words = [word for scope in scopes for word in scope.split() if _TOKEN.fullmatch(word)]
    return " ".join([word for word in dict.fromkeys(words) if len(word) <= _LONGEST][:MOST_SCOPES])
