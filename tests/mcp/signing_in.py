"""Steps of an MCP client's sign-in by OAuth."""

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from django.contrib.auth.models import User
from django.test import Client
from django.utils.http import urlencode

VERIFIER = "a-verifier-that-is-long-enough-for-the-rule-43"
CHALLENGE = (
    base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
)
REDIRECT = "http://127.0.0.1:4000/callback"
HOST = "http://testserver"


@dataclass(frozen=True)
class Tokens:
    """A client with its tokens."""

    client_id: str
    access: str
    refresh: str


def register(uris: Any = (REDIRECT,), name: Any = "Claude", address: str = "127.0.0.1") -> Any:
    body = {"client_name": name, "redirect_uris": uris, "grant_types": ["authorization_code"]}
    client = Client(REMOTE_ADDR=address)
    return client.post("/oauth/register", json.dumps(body), content_type="application/json")


def client_of(*uris: str) -> str:
    return str(register(uris or (REDIRECT,)).json()["client_id"])


def browser(person: User, **more: Any) -> Client:
    client = Client(**more)
    client.force_login(person, "acl.people.sign_in_attempts.PasswordBackend")
    return client


def request_of(client_id: str, **changed: Any) -> dict[str, Any]:
    """Build an authorization request; None leaves a parameter out."""
    asked = {
        "response_type": "code", "client_id": client_id, "redirect_uri": REDIRECT, "state": "s1",
        "code_challenge": CHALLENGE, "code_challenge_method": "S256", "resource": f"{HOST}/mcp",
    }  # fmt: skip
    return {name: value for name, value in {**asked, **changed}.items() if value is not None}


def consent(person: User, client_id: str, decision: str = "allow", **changed: Any) -> Any:
    """Answer the consent page, and return what the browser is answered."""
    query = urlencode(request_of(client_id, **changed), doseq=True)
    return browser(person).post(f"/oauth/authorize?{query}", {"decision": decision})


def sent_back(response: Any) -> dict[str, str]:
    """Return the parameters with which the browser is sent to the client."""
    assert response.status_code == 302, response.content
    return dict(parse_qsl(urlsplit(response["Location"]).query))


def exchange(client_id: str, code: str, **changed: Any) -> Any:
    sent = {
        "grant_type": "authorization_code", "client_id": client_id, "code": code,
        "redirect_uri": REDIRECT, "code_verifier": VERIFIER,
    }  # fmt: skip
    return Client().post("/oauth/token", {**sent, **changed})


def refresh(tokens: Tokens, **changed: Any) -> Any:
    sent = {
        "grant_type": "refresh_token", "client_id": tokens.client_id,
        "refresh_token": tokens.refresh,
    }  # fmt: skip
    return Client().post("/oauth/token", {**sent, **changed})


def sign_in(person: User, client_id: str = "", **changed: Any) -> Tokens:
    """Go through all of it, and return the tokens."""
    client_id = client_id or client_of()
    code = sent_back(consent(person, client_id, **changed))["code"]
    answered = exchange(client_id, code).json()
    return Tokens(client_id, answered["access_token"], answered["refresh_token"])
