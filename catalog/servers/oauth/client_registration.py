"""What Pegboard is called at an authorization server: registered by itself, or set by an admin."""

from base64 import b64encode
from dataclasses import dataclass, field
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

from catalog.models import Integration, OAuthClient
from catalog.servers.oauth.authorization_client import Asker
from catalog.servers.oauth.endpoint_discovery import GRANTS, Found
from catalog.servers.oauth.sign_in_error import SignInError
from catalog.servers.oauth.token_store import CLIENT, keep, kept


@dataclass(frozen=True, slots=True)
class Client:
    """How Pegboard names and proves itself at one authorization server."""

    client_id: str
    auth_method: str
    secret: str = field(default="", repr=False)

    def proof(self) -> tuple[dict[str, str], dict[str, str]]:
        """The fields and headers that go with each form (RFC 6749, 2.3.1)."""
        fields, headers = {"client_id": self.client_id}, {}
        if self.auth_method == "client_secret_basic" and self.secret:
            pair = f"{quote(self.client_id, safe='')}:{quote(self.secret, safe='')}"
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        elif self.auth_method == "client_secret_post":
            fields["client_secret"] = self.secret
        return fields, headers


def client_for(integration: Integration, found: Found, redirect_uri: str, ask: Asker) -> Client:
    """The client to sign in as. One that belongs to another issuer is never used."""
    row = OAuthClient.objects.filter(integration=integration).first()
    if row is not None and row.by_hand:
        return _by_hand(row, found)
    same = row is not None and row.issuer == found.issuer
    if row is None or not same or row.redirect_uri != redirect_uri:
        row = _registered(integration, found, redirect_uri, ask)
    return _client(row)


def client_at(integration: Integration, issuer: str) -> Client:
    """The client that is known there; if it is of another issuer by now, nothing is sent."""
    row = OAuthClient.objects.filter(integration=integration).first()
    if row is None or row.issuer != issuer:
        raise SignInError("other_issuer")
    return _client(row)


def _client(row: OAuthClient) -> Client:
    secret = kept(row.integration, None, CLIENT).get("secret", "")
    return Client(row.client_id, row.auth_method or "none", secret)


def _by_hand(row: OAuthClient, found: Found) -> Client:
    """It is bound to the first issuer that it is used at: its secret goes nowhere else."""
    if row.issuer and row.issuer != found.issuer:
        raise SignInError("other_issuer")
    has_secret = bool(kept(row.integration, None, CLIENT))
    offered = found.metadata.token_endpoint_auth_methods_supported or ["client_secret_basic"]
    usable = [one for one in ("client_secret_basic", "client_secret_post") if one in offered]
    row.issuer = found.issuer
    row.auth_method = (usable or ["client_secret_basic"])[0] if has_secret else "none"
    row.save(update_fields=["issuer", "auth_method"])
    return _client(row)


def _registered(
    integration: Integration, found: Found, redirect_uri: str, ask: Asker
) -> OAuthClient:
    if found.metadata.registration_endpoint is None:
        raise SignInError("no_registration")
    wanted = OAuthClientMetadata(
        client_name="Pegboard",
        redirect_uris=[AnyUrl(redirect_uri)],
        grant_types=list(GRANTS),
        token_endpoint_auth_method="none",  # noqa: S106 - we are a public client where we may
        application_type="web",
        scope=found.scope or None,
    )
    answer = ask.send(create_client_registration_request(found.metadata, wanted, ""))

    async def read() -> OAuthClientInformationFull:
        return await handle_registration_response(answer)

    try:
        told = anyio.run(read)
        check_registration_usable(told)
    except OAuthRegistrationError:
        raise SignInError("unusable_client") from None
    if told.client_secret:
        keep(integration, None, CLIENT, {"secret": told.client_secret})
    row, _ = OAuthClient.objects.update_or_create(
        integration=integration,
        defaults={
            "client_id": told.client_id[:500],
            "issuer": found.issuer,
            "redirect_uri": redirect_uri,
            "auth_method": told.token_endpoint_auth_method
            or ("client_secret_basic" if told.client_secret else "none"),
            "by_hand": False,
        },
    )
    return row
