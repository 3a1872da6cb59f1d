"""Requests to authorization servers: checked, bounded, never redirected; and failed sign-ins."""

from collections.abc import Mapping
from typing import Any

import anyio
import httpx2
from django.utils.translation import gettext_noop

from catalog.formats.text_cleanup import clean_text
from catalog.servers.net.address_check import AllowedHosts, NotReachableError, check_address
from catalog.servers.net.guarded_transport import GuardedTransport

_SECONDS = 15.0
_MOST_BYTES = 256 * 1024


class OAuthHttp:
    """An HTTP client on the guarded transport; tests pass a transport of their own."""

    def __init__(
        self, allowed: AllowedHosts | None = None, transport: GuardedTransport | None = None
    ) -> None:
        self.allowed = AllowedHosts.from_settings() if allowed is None else allowed
        self._transport = transport

    def get(self, url: str) -> httpx2.Response:
        """GET a JSON document."""
        address = check_address(url, self.allowed)
        return self.send(httpx2.Request("GET", address, headers={"Accept": "application/json"}))

    def post(
        self, url: str, *, form: Mapping[str, str], headers: Mapping[str, str]
    ) -> httpx2.Response:
        """POST a form."""
        address, accept = check_address(url, self.allowed), {"Accept": "application/json"}
        return self.send(
            httpx2.Request("POST", address, data=dict(form), headers={**accept, **headers})
        )

    def post_json(self, url: str, body: Mapping[str, Any]) -> httpx2.Response:
        """POST an object, as to an MCP server."""
        address = check_address(url, self.allowed)
        accept = {"Accept": "application/json, text/event-stream"}
        return self.send(httpx2.Request("POST", address, json=dict(body), headers=accept))

    def send(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and return the response, whatever its status."""
        check_address(request.url, self.allowed)
        return anyio.run(self._send, request)

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        transport = self._transport or GuardedTransport(self.allowed, most_bytes=_MOST_BYTES)
        try:
            with anyio.fail_after(_SECONDS):
                async with httpx2.AsyncClient(
                    transport=transport, trust_env=False, timeout=_SECONDS, follow_redirects=False
                ) as client:
                    response = await client.send(request, stream=True)
                    # True for an event stream: it has no end, so only its headers are read.
                    if str(response.headers.get("content-type", "")).startswith(
                        "text/event-stream"
                    ):
                        await response.aclose()
                        return httpx2.Response(response.status_code, headers=response.headers)
                    await response.aread()
                    return response
        except (TimeoutError, httpx2.TransportError):
            raise NotReachableError from None


# English, for rows; pages translate them.
WORDS = {
    "not_offered": gettext_noop("The server does not offer a sign-in. Set its secrets instead."),
    "wrong_resource": gettext_noop(
        "The server names another address as its own, so Pegboard does not sign in there."
    ),
    "wrong_issuer": gettext_noop(
        "The authorization server does not match the expected issuer. Nothing was sent to it."
    ),
    "other_issuer": gettext_noop(
        "The server names another authorization server than the one its client ID was set for. "
        "If that is correct, set the client ID again."
    ),
    "no_pkce": gettext_noop(
        "The authorization server does not support PKCE with S256, so a code could be stolen."
    ),
    "no_registration": gettext_noop(
        "The authorization server does not register clients automatically. Register Pegboard "
        "there and set the client ID."
    ),
    "unusable_client": gettext_noop(
        "The authorization server registered Pegboard in a way that it cannot use."
    ),
    "refused": gettext_noop("The authorization server refused the sign-in."),
    "wrong_answer": gettext_noop("The authorization server's response is not valid OAuth."),
    "moved": gettext_noop("The server's address has changed. Sign in again."),
    "not_confirmed": gettext_noop(
        "The server was imported and is not confirmed yet. An admin must confirm it."
    ),
    "not_now": gettext_noop(
        "The authorization server does not renew the token at the moment. Try again later."
    ),
    "ended": gettext_noop("The account is no longer connected. Sign in again."),
}


# Codes of RFC 6749, section 5.2, after which the same request cannot succeed.
_ENDING = frozenset({"invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope"})
# As RFC 6749 has no word for it, some servers say what they mean.
_ENDING |= {"unsupported_grant_type", "access_denied", "consent_required", "interaction_required"}
_ENDING |= {"login_required", "token_expired", "token_revoked", "bad_refresh_token"}


class SignInError(Exception):
    """A sign-in failed; `reason` is for machines."""

    def __init__(self, reason: str, detail: str = "") -> None:
        cited = clean_text(detail).text[:100]
        super().__init__(f"{WORDS[reason]} It said: {cited}." if cited else WORDS[reason])
        self.reason = reason
        self.code = detail

    @property
    def ends_account(self) -> bool:
        """Return True if the authorization server says that the account is no longer valid.

        Any other failure may pass: an outage, a limit, a page of a proxy.
        """
        return self.reason == "refused" and self.code in _ENDING

    @property
    def may_pass(self) -> bool:
        """Return True if the same request may succeed later."""
        is_answer = self.reason in ("refused", "wrong_answer") and not self.ends_account
        return is_answer or self.reason == "not_now"
