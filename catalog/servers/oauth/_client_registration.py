"""OAuth clients: dynamically registered, or entered by an admin."""

import json
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import anyio
from mcp.client.auth import OAuthRegistrationError
from mcp.client.auth.oauth2 import check_registration_usable
from mcp.client.auth.utils import (
    create_client_registration_request,
    handle_registration_response,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata
from pydantic import AnyUrl

from catalog.models import Integration, OAuthClient, Secret
from catalog.models.oauth_tables import CLIENT, TOKEN
from catalog.servers.oauth._endpoint_discovery import GRANTS, OAuthEndpoints
from catalog.servers.oauth.authorization_client import OAuthHttp, SignInError
from catalog.servers.secrets.sealed_values import seal, unseal

# Storage of tokens and client secrets as sealed secrets under reserved names.

__all__ = ["CLIENT", "TOKEN", "load_value", "store_value"]


def store_value(
    integration: Integration, user_id: int | None, name: str, value: dict[str, Any]
) -> None:
    """Seal and store a value, replacing the previous one."""
    row = Secret(integration=integration, user_id=user_id, name=name)
    sealed = seal(json.dumps(value), purpose=row.purpose)
    Secret.objects.update_or_create(
        integration=integration,
        user_id=user_id,  # type: ignore[misc]
        name=name,
        defaults={"sealed": sealed},
    )


def load_value(integration: Integration, user_id: int | None, name: str) -> dict[str, Any]:
    """Return the stored value, or {}."""
    row = Secret.objects.filter(integration=integration, user=user_id, name=name).first()
    if row is None:
        return {}
    value: dict[str, Any] = json.loads(unseal(bytes(row.sealed), purpose=row.purpose))
    return value


@dataclass(frozen=True, slots=True)
class Client:
    """Pegboard's identity at one authorization server."""

    client_id: str
    auth_method: str
    secret: str = field(default="", repr=False)

    def proof(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the fields and headers that authenticate the client (RFC 6749, 2.3.1)."""
        fields, headers = {"client_id": self.client_id}, {}
        if self.auth_method == "client_secret_basic" and self.secret:
            pair = f"{quote(self.client_id, safe='')}:{quote(self.secret, safe='')}"
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        elif self.auth_method == "client_secret_post":
            fields["client_secret"] = self.secret
        return fields, headers


def client_for(
    integration: Integration, endpoints: OAuthEndpoints, redirect_uri: str, http: OAuthHttp
) -> Client:
    """Return the client to sign in with, registering it if needed."""
    row = OAuthClient.objects.filter(integration=integration).first()
    if row is not None and row.by_hand:
        offered = endpoints.metadata.token_endpoint_auth_methods_supported
        return bind_manual_client(row, endpoints.issuer, offered)
    # A client of another issuer is never used: its secret would go to a stranger.
    same = row is not None and row.issuer == endpoints.issuer
    if row is None or not same or row.redirect_uri != redirect_uri:
        row = _register_client(integration, endpoints, redirect_uri, http)
    return _client(row)


def client_at(integration: Integration, issuer: str) -> Client:
    """Return the client known at the issuer, or raise SignInError."""
    row = OAuthClient.objects.filter(integration=integration).first()
    if row is None or row.issuer != issuer:
        raise SignInError("other_issuer")
    return _client(row)


def _client(row: OAuthClient) -> Client:
    secret = load_value(row.integration, None, CLIENT).get("secret", "")
    return Client(row.client_id, row.auth_method or "none", secret)


def bind_manual_client(row: OAuthClient, issuer: str, methods: list[str] | None) -> Client:
    """Bind an admin's client to the first issuer it is used at."""
    # Its secret goes to no other issuer.
    if row.issuer and row.issuer != issuer:
        raise SignInError("other_issuer")
    has_secret = bool(load_value(row.integration, None, CLIENT))
    offered = methods or ["client_secret_basic"]
    usable = [
        method for method in ("client_secret_basic", "client_secret_post") if method in offered
    ]
    row.issuer = issuer
    row.auth_method = (usable or ["client_secret_basic"])[0] if has_secret else "none"
    row.save(update_fields=["issuer", "auth_method"])
    return _client(row)


def _register_client(
    integration: Integration, endpoints: OAuthEndpoints, redirect_uri: str, http: OAuthHttp
) -> OAuthClient:
    if endpoints.metadata.registration_endpoint is None:
        raise SignInError("no_registration")
    client_metadata = OAuthClientMetadata(
        client_name="Pegboard",
        redirect_uris=[AnyUrl(redirect_uri)],
        grant_types=list(GRANTS),
        token_endpoint_auth_method="none",  # noqa: S106 - prefer being a public client
        application_type="web",
        scope=endpoints.scope or None,
    )
    answer = http.send(create_client_registration_request(endpoints.metadata, client_metadata, ""))

    async def read() -> OAuthClientInformationFull:
        return await handle_registration_response(answer)

    try:
        registered = anyio.run(read)
        check_registration_usable(registered)
    except OAuthRegistrationError:
        raise SignInError("unusable_client") from None
    if registered.client_secret:
        store_value(integration, None, CLIENT, {"secret": registered.client_secret})
    row, _ = OAuthClient.objects.update_or_create(
        integration=integration,
        defaults={
            "client_id": registered.client_id[:500],
            "issuer": endpoints.issuer,
            "redirect_uri": redirect_uri,
            "auth_method": registered.token_endpoint_auth_method
            or ("client_secret_basic" if registered.client_secret else "none"),
            "by_hand": False,
        },
    )
    return row
