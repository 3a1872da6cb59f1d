"""Tokens: got for a code, kept sealed, renewed before they end, and sent to one address only."""

from collections.abc import Mapping
from datetime import timedelta

import httpx2
from django.db import transaction
from mcp.shared.auth import OAuthToken

from acl.platform.clock import database_now
from acl.platform.strict_json import parse_json
from catalog.models import Integration, OAuthConnection
from catalog.servers.net.outgoing_errors import OutgoingError
from catalog.servers.oauth.authorization_client import Asker
from catalog.servers.oauth.client_registration import Client, client_at
from catalog.servers.oauth.sign_in_error import SignInError
from catalog.servers.oauth.token_store import TOKEN, keep, kept

# A call may take a minute: a token that ends sooner is renewed first.
SOON = timedelta(minutes=1)
_WITHOUT_END = timedelta(days=365)


def connection_of(integration: Integration, user_id: int | None) -> OAuthConnection | None:
    """The account that a call goes with: the person's own where that is allowed, or the shared."""
    rows = OAuthConnection.objects.filter(integration=integration)
    own = rows.filter(user_id=user_id) if integration.own_secrets and user_id else rows.none()
    return own.first() or rows.filter(user=None).first()


def bearer_for(
    integration: Integration, *, user_id: int | None = None, ask: Asker | None = None
) -> str | None:
    """The token to send, renewed where it ends soon; None where nobody has signed in.

    It was made for one address. Where the integration has another by now, it is not sent.
    """
    row = connection_of(integration, user_id)
    if row is None:
        return None
    if row.endpoint != integration.endpoint:
        raise SignInError("moved")
    if _ends_before(row, SOON):
        row = renew(row.pk, within=SOON, ask=ask or Asker())
    if row.problem or _ends_before(row, timedelta()):
        raise SignInError("ended")
    return str(kept(integration, row.user_id, TOKEN).get("access", "")) or None


def distrust(integration: Integration, *, user_id: int | None = None) -> None:
    """The server refused the token: the next call renews it, unless it was only just made."""
    row = connection_of(integration, user_id)
    if row is None or not row.can_refresh:
        return
    made_at = row.refreshed_at or row.connected_at
    if made_at < database_now() - SOON:
        OAuthConnection.objects.filter(pk=row.pk).update(expires_at=database_now())


def renew(pk: int, *, within: timedelta, ask: Asker) -> OAuthConnection:
    """Renew the token if it still ends within that time: who waited for another finds it done.

    The row is locked while the server is asked, since many servers take a refresh token once.
    """
    with transaction.atomic():
        rows = OAuthConnection.objects.select_for_update(of=("self",))
        row = rows.select_related("integration").get(pk=pk)
        if row.integration.unconfirmed or not row.can_refresh or row.problem:
            return row
        if not _ends_before(row, within):
            return row
        try:
            _renew(row, ask)
        except SignInError as refusal:
            row.problem = str(refusal)[:300]
            row.save(update_fields=["problem"])
        except OutgoingError:
            pass  # it may still be good for a while, and is tried again
        return row


def _renew(row: OAuthConnection, ask: Asker) -> None:
    had = kept(row.integration, row.user_id, TOKEN)
    client = client_at(row.integration, row.issuer)
    form = {"grant_type": "refresh_token", "refresh_token": str(had["refresh"])}
    token = _asked(row.token_endpoint, {**form, "resource": row.resource}, client, ask)
    store(row, token, refresh=str(had["refresh"]))


def exchange(
    details: Mapping[str, str], client: Client, *, code: str, verifier: str, ask: Asker
) -> OAuthToken:
    """A token for a code."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "code_verifier": verifier,
        "redirect_uri": details["redirect_uri"],
        "resource": details["resource"],
    }
    return _asked(details["token_endpoint"], form, client, ask)


def store(row: OAuthConnection, token: OAuthToken, *, refresh: str = "") -> None:
    """Keep the token, and how long it is good. Some servers tell no new refresh token."""
    refresh = token.refresh_token or refresh
    keep(row.integration, row.user_id, TOKEN, {"access": token.access_token, "refresh": refresh})
    now = database_now()
    lasts = min(timedelta(seconds=max(0, token.expires_in or 0)), _WITHOUT_END)
    row.expires_at = now + lasts if token.expires_in is not None else None
    row.can_refresh, row.problem, row.refreshed_at = bool(refresh), "", now
    row.scope = (token.scope or row.scope)[:2000]
    row.save()


def _asked(url: str, form: Mapping[str, str], client: Client, ask: Asker) -> OAuthToken:
    fields, headers = client.proof()
    answer = ask.post(url, form={**form, **fields}, headers=headers)
    if answer.status_code != 200:
        raise SignInError("refused", _error_of(answer))
    try:
        return OAuthToken.model_validate(parse_json(answer.content))
    except ValueError:
        raise SignInError("wrong_answer") from None


def _error_of(answer: httpx2.Response) -> str:
    """The error's code, which is a word of the standard; nothing else of the answer is repeated."""
    try:
        code = parse_json(answer.content).get("error", "")
    except (ValueError, AttributeError):
        return ""
    return code if isinstance(code, str) and code.replace("_", "").isalnum() else ""


def _ends_before(row: OAuthConnection, within: timedelta) -> bool:
    return row.expires_at is not None and row.expires_at <= database_now() + within
