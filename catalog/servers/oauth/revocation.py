"""Giving tokens back to the server that made them (RFC 7009)."""

import json

from catalog.models import OAuthRevocation
from catalog.servers.net.outgoing_errors import OutgoingError
from catalog.servers.oauth.authorization_client import Asker
from catalog.servers.oauth.client_registration import Client
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from catalog.servers.secrets.sealed_values import unseal


def revoke(pk: int, ask: Asker | None = None) -> None:
    """Tell the server; whoever comes second finds nothing to do. What cannot be told now stays.

    The refresh token goes first: with it most servers end everything that came of it.
    """
    row = OAuthRevocation.objects.filter(pk=pk).first()
    if row is None:
        return
    try:
        token, client = _token(row), _client(row)
        told = all(
            _is_told(row, token[kind], f"{kind}_token", client, ask or Asker())
            for kind in ("refresh", "access")
            if token.get(kind)
        )
    except OutgoingError:
        return
    except SecretUnavailableError:
        told = True  # nobody can open it any more
    if told:
        row.delete()


def _is_told(row: OAuthRevocation, token: str, hint: str, client: Client, ask: Asker) -> bool:
    """Any answer but a failure of the server's own is one: what it does not know is gone, too."""
    fields, headers = client.proof()
    form = {"token": token, "token_type_hint": hint, **fields}
    return ask.post(row.endpoint, form=form, headers=headers).status_code < 500


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
