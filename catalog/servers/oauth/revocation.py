"""Token revocation (RFC 7009)."""

import json

from catalog.models import OAuthRevocation
from catalog.servers.net.outgoing_errors import OutgoingError
from catalog.servers.oauth.authorization_client import OAuthHttp
from catalog.servers.oauth.client_registration import Client
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from catalog.servers.secrets.sealed_values import unseal


def revoke(pk: int, http: OAuthHttp | None = None) -> None:
    """Revoke a stored token; keep the row if the server cannot be reached.

    The refresh token goes first: most servers then revoke everything derived from it.
    """
    http = http or OAuthHttp()
    row = OAuthRevocation.objects.filter(pk=pk).first()
    if row is None:
        return
    try:
        token, client = _token(row), _client(row)
        revoked = all(
            _revoke_at_server(row, token[kind], f"{kind}_token", client, http)
            for kind in ("refresh", "access")
            if token.get(kind)
        )
    except OutgoingError:
        return
    except SecretUnavailableError:
        revoked = True  # nobody can decrypt it any more
    if revoked:
        row.delete()


def _revoke_at_server(
    row: OAuthRevocation, token: str, hint: str, client: Client, http: OAuthHttp
) -> bool:
    """Return True unless the server itself failed: an unknown token counts as revoked."""
    fields, headers = client.proof()
    form = {"token": token, "token_type_hint": hint, **fields}
    return http.post(row.endpoint, form=form, headers=headers).status_code < 500


def _token(row: OAuthRevocation) -> dict[str, str]:
    opened = unseal(bytes(row.sealed_token), purpose=row.token_purpose)
    token: dict[str, str] = json.loads(opened)
    return token


def _client(row: OAuthRevocation) -> Client:
    secret = ""
    if row.sealed_client:
        opened = unseal(bytes(row.sealed_client), purpose=row.client_purpose)
        secret = json.loads(opened).get("secret", "")
    return Client(row.client_id, row.auth_method, secret)
