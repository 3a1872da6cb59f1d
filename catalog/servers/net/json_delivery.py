"""Delivery of JSON documents to operators' addresses. Workers only."""

from typing import Any

import anyio
import httpx2

from catalog.servers.net.address_check import AllowedHosts, check_address
from catalog.servers.net.guarded_transport import GuardedTransport
from catalog.servers.net.outgoing_errors import NotReachableError

_MOST_BYTES = 100_000


def send_json(
    url: str,
    body: dict[str, Any],
    *,
    seconds: float = 10.0,
    allowed: AllowedHosts | None = None,
    transport: GuardedTransport | None = None,
) -> int:
    """POST `body` and return the status; redirects are not followed."""
    allowed = AllowedHosts.from_settings() if allowed is None else allowed
    transport = transport or GuardedTransport(allowed, most_bytes=_MOST_BYTES)

    async def run() -> int:
        with anyio.fail_after(seconds):
            async with httpx2.AsyncClient(
                transport=transport, trust_env=False, timeout=seconds
            ) as client:
                answer = await client.post(
                    check_address(url, allowed),
                    json=body,
                    headers={"user-agent": "Pegboard"},
                    follow_redirects=False,
                )
                return answer.status_code

    try:
        return anyio.run(run)
    except (TimeoutError, httpx2.TransportError):
        raise NotReachableError from None
