"""OAuth tokens: obtained, stored sealed, renewed, sent to one address only, revoked (RFC 7009)."""

import json
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
from django.db import transaction
from mcp.shared.auth import OAuthToken

from acl.platform.back_off import BackOff
from acl.platform.database_work import database_now
from acl.platform.strict_json import parse_json
from catalog.formats.openapi.api_security import CLIENT_CREDENTIALS, find_sign_in
from catalog.models import Integration, OAuthClient, OAuthConnection, OAuthRevocation, Secret
from catalog.servers.client.http_transport import merge_scopes
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.net.address_check import OutgoingError, check_address
from catalog.servers.oauth._authorization_server import (
    TOKEN,
    Client,
    bind_manual_client,
    client_at,
    installed_scopes,
    load_value,
    store_value,
)
from catalog.servers.oauth.authorization_client import OAuthHttp, SignInError
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from catalog.servers.secrets.sealed_values import unseal

# A call may take a minute, so a token that expires sooner is renewed first.
SOON = timedelta(minutes=1)
# A server may send any number of seconds; one whose end no date can hold counts as a year.
_WITHOUT_END = timedelta(days=365)
_pauses: dict[int, BackOff] = {}  # of this process, between renewals of an account that failed


def find_connection(
    integration: Integration, user_id: int | None, *, shared: bool | None = None
) -> OAuthConnection | None:
    """Return the account for a call: the person's own if allowed, otherwise the shared one.

    The shared one does not go along with secrets of the person's own. `shared` says whether it may,
    if the call's secrets are read already.
    """
    rows = OAuthConnection.objects.filter(integration=integration)
    if integration.own_secrets and user_id:
        if connection := rows.filter(user_id=user_id).first():
            return connection
        if shared is None:
            shared = not Secret.objects.for_use(integration, user_id=user_id).own
    return None if shared is False else rows.filter(user=None).first()


def get_bearer_token(
    integration: Integration,
    *,
    user_id: int | None = None,
    shared: bool | None = None,
    http: OAuthHttp | None = None,
) -> str | None:
    """Return the access token, renewed if needed; None without an account.

    Raises SignInError if the integration's address changed: a token is for one address only.
    """
    row = find_connection(integration, user_id, shared=shared)
    if row is None:
        return None
    if row.endpoint != integration.endpoint:
        raise SignInError("moved")
    if ends_before(row, SOON):
        row = renew_token(row.pk, within=SOON, http=http or OAuthHttp())
    if row.problem or (ends_before(row, timedelta()) and not row.can_refresh):
        raise SignInError("ended")
    if ends_before(row, timedelta()):
        raise SignInError("not_now")
    return str(load_value(integration, row.user_id, TOKEN).get("access", "")) or None


def expire_token(integration: Integration, *, user_id: int | None = None) -> None:
    """Expire a refused token, so that the next call renews it, unless it is brand-new."""
    row = find_connection(integration, user_id)
    if row is None or not row.can_refresh:
        return
    made_at = row.refreshed_at or row.connected_at
    if made_at < database_now() - SOON:
        OAuthConnection.objects.filter(pk=row.pk).update(expires_at=database_now())


def renew_token(pk: int, *, within: timedelta, http: OAuthHttp) -> OAuthConnection:
    """Renew the token if it still expires within that time."""
    with transaction.atomic():
        # Locked during the request: many servers accept a refresh token only once.
        rows = OAuthConnection.objects.select_for_update(of=("self",))
        row = rows.select_related("integration").get(pk=pk)
        if row.integration.unconfirmed or not row.can_refresh or row.problem:
            return row
        if not ends_before(row, within) or not _pauses.get(pk, BackOff()).allows(time.monotonic()):
            return row
        try:
            had = load_value(row.integration, row.user_id, TOKEN)
            client = client_at(row.integration, row.issuer)
            form = {"grant_type": "refresh_token", "refresh_token": str(had["refresh"])}
            token = request_token(row.token_endpoint, form | _resource(row.resource), client, http)
            store_token(row, token, refresh=str(had["refresh"]))
            _pauses.pop(pk, None)
        except SignInError as refusal:
            if refusal.ends_account:
                row.problem = str(refusal)[:300]
                row.save(update_fields=["problem"])
            else:
                _pauses.setdefault(pk, BackOff()).failed(time.monotonic())
        except OutgoingError:
            _pauses.setdefault(pk, BackOff()).failed(
                time.monotonic()
            )  # the token may still be valid
        return row


def exchange_code(
    details: Mapping[str, str],
    client: Client,
    *,
    code: str,
    verifier: str,
    http: OAuthHttp,
) -> OAuthToken:
    """Exchange a code for a token."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "code_verifier": verifier,
        "redirect_uri": details["redirect_uri"],
        **_resource(details["resource"]),
    }
    return request_token(details["token_endpoint"], form, client, http)


def _resource(resource: str) -> dict[str, str]:
    return {"resource": resource} if resource else {}


def store_token(row: OAuthConnection, token: OAuthToken, *, refresh: str = "") -> None:
    """Store a token and its expiry. Some servers return no new refresh token."""
    refresh = token.refresh_token or refresh
    store_value(
        row.integration, row.user_id, TOKEN, {"access": token.access_token, "refresh": refresh}
    )
    now = database_now()
    lasts = min(timedelta(seconds=max(0, token.expires_in or 0)), _WITHOUT_END)
    row.expires_at = now + lasts if token.expires_in is not None else None
    row.can_refresh, row.problem, row.refreshed_at = bool(refresh), "", now
    row.scope = (token.scope or row.scope)[:2000]
    row.save()


def request_token(url: str, form: Mapping[str, str], client: Client, http: OAuthHttp) -> OAuthToken:
    proof, headers = client.proof()
    answer = http.post(url, form={**form, **proof}, headers=headers)
    fields = _fields_of(answer)
    # Some say in an answer with status 200 that there is no token.
    if answer.status_code not in (200, 201) or ("error" in fields and "access_token" not in fields):
        # The standardized error code, and nothing else of the answer.
        code = str(fields.get("error", ""))
        raise SignInError("refused", code if code.replace("_", "").isalnum() else "")
    scope, lasts = fields.get("scope"), str(fields.get("expires_in") or "").partition(".")[0]
    token = {
        "access_token": fields.get("access_token"),
        "refresh_token": fields.get("refresh_token") or None,
        "expires_in": int(lasts[:12]) if lasts.isdecimal() else None,
        "scope": " ".join(map(str, scope)) if isinstance(scope, list) else scope or None,
    }
    try:
        return OAuthToken.model_validate(token)
    except ValueError:
        raise SignInError("wrong_answer") from None


def _fields_of(answer: httpx2.Response) -> Mapping[str, Any]:
    """Return the fields of an answer in JSON, or as a form, which some send all the same."""
    try:
        if "x-www-form-urlencoded" in answer.headers.get("content-type", ""):
            return dict(parse_qsl(answer.content.decode()))
        fields: Any = parse_json(answer.content)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def ends_before(row: OAuthConnection, within: timedelta) -> bool:
    return row.expires_at is not None and row.expires_at <= database_now() + within


def revoke_token(pk: int, http: OAuthHttp | None = None) -> None:
    """Revoke a stored token; keep the row if the server cannot be reached.

    The refresh token goes first: most servers then revoke_token everything derived from it.
    """
    http = http or OAuthHttp()
    row = OAuthRevocation.objects.filter(pk=pk).first()
    if row is None:
        return
    try:
        secret = ""
        if row.sealed_client:
            opened = unseal(bytes(row.sealed_client), purpose=row.client_purpose)
            secret = json.loads(opened).get("secret", "")
        token, client = _token(row), Client(row.client_id, row.auth_method, secret)
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


# Step-up: scopes that a server demands beyond the account's (RFC 6750, section 3.1).
# The next sign-in requests all earlier scopes and the new ones, once. If the server still
# refuses, another sign-in would not help, so none is suggested.


def step_up(
    integration: Integration, problem: ServerProblemError, *, user_id: int | None
) -> ServerProblemError:
    """Record the scopes for the next sign-in; return the problem to report."""
    needed_scope, row = problem.detail, find_connection(integration, user_id)
    if row is None or not set(needed_scope.split()) - set(row.asked_scope.split()):
        return ServerProblemError(Reason.SCOPE_REFUSED, needed_scope, sent=problem.sent)
    scope = merge_scopes(row.asked_scope, row.wanted_scope, needed_scope)[:2000]
    OAuthConnection.objects.filter(pk=row.pk).update(wanted_scope=scope)
    return problem


def scope_to_ask(integration: Integration, user_id: int | None, offered: str) -> str:
    """Return the scopes to request: offered by the server, or demanded by its tools."""
    row = OAuthConnection.objects.filter(integration=integration, user=user_id).first()
    if row is None:
        return offered
    # A new sign-in must not lose scopes granted earlier, even if the server does not list them.
    return merge_scopes(offered, row.asked_scope, row.wanted_scope)


# Tokens of Pegboard's own client at an API (client credentials, RFC 6749, section 4.4).
#
# Nobody signs in, so all people share the account; there is no refresh token: a new one is asked
# for.


def renew_own_account(integration: Integration, http: OAuthHttp | None = None) -> None:
    """Get a token, unless there is a fresh one, where the API's document offers this flow.

    Does nothing before an admin has set a client. Raises SignInError and OutgoingError.
    """
    name, sign_in = find_sign_in(integration.source_ref.get("security"))
    if sign_in.get("grant") != CLIENT_CREDENTIALS or integration.unconfirmed:
        return
    client = OAuthClient.objects.filter(integration=integration, by_hand=True).first()
    row = OAuthConnection.objects.filter(integration=integration, user=None).first()
    if client is None or (
        row is not None and not (ends_before(row, SOON) or row.endpoint != integration.endpoint)
    ):
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
