"""Tokens of Pegboard's own client at an API (client credentials, RFC 6749, section 4.4).

Nobody signs in, so all people share the account; there is no refresh token: a new one is asked for.
"""

from urllib.parse import urlsplit

from catalog.formats.openapi.api_security import CLIENT_CREDENTIALS, find_sign_in
from catalog.models import Integration, OAuthClient, OAuthConnection
from catalog.servers.net.address_check import check_address
from catalog.servers.oauth._api_endpoints import installed_scopes
from catalog.servers.oauth._client_registration import bind_manual_client
from catalog.servers.oauth.authorization_client import OAuthHttp
from catalog.servers.oauth.tokens import SOON, ends_before, request_token, store_token


def renew_own_account(integration: Integration, http: OAuthHttp | None = None) -> None:
    """Get a token, unless there is a fresh one, where the API's document offers this flow.

    Does nothing before an admin has set a client. Raises SignInError and OutgoingError.
    """
    name, sign_in = find_sign_in(integration.source_ref.get("security"))
    if sign_in.get("grant") != CLIENT_CREDENTIALS or integration.unconfirmed:
        return
    client = OAuthClient.objects.filter(integration=integration, by_hand=True).first()
    row = OAuthConnection.objects.filter(integration=integration, user=None).first()
    if client is None or (row is not None and not _needs_token(row, integration)):
        return
    http = http or OAuthHttp()
    address = str(sign_in["token"])
    check_address(address, http.allowed)
    parts = urlsplit(address)
    # The client's secret goes to the authorization server that it was first used at only.
    proof = bind_manual_client(client, f"{parts.scheme}://{parts.netloc}", None)
    scope = installed_scopes(integration, name)
    form = {"grant_type": "client_credentials", **({"scope": scope} if scope else {})}
    token = request_token(address, form, proof, http)
    row, _ = OAuthConnection.objects.update_or_create(
        integration=integration,
        user=None,
        defaults={
            "endpoint": integration.endpoint,
            "issuer": client.issuer,
            "token_endpoint": address,
            "resource": "",
            "scope": scope,
            "asked_scope": scope,
        },
    )
    store_token(row, token)


def _needs_token(row: OAuthConnection, integration: Integration) -> bool:
    return ends_before(row, SOON) or row.endpoint != integration.endpoint
