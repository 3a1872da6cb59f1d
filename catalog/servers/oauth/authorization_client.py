"""Requests to authorization servers: checked, bounded, never redirected."""

from collections.abc import Mapping
from typing import Any

import anyio
import httpx2

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
