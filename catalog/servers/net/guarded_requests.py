"""Fetching of single documents: a registry's page, an archive, a README. Workers only."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2

from catalog.servers.net.address_check import (
    AllowedHosts,
    EndpointNotAllowedError,
    NotReachableError,
    TooManyRedirectsError,
    check_address,
)
from catalog.servers.net.guarded_transport import MB, GuardedTransport

# Headers that may follow a redirect to another origin: nothing that identifies us.
_SAFE_HEADERS = frozenset({"accept", "user-agent", "if-none-match", "if-modified-since"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_AGENT = "Pegboard"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of one fetch. With `same_origin`, redirects must not leave the address's origin."""

    most_bytes: int = 5 * MB
    seconds: float = 30.0
    redirects: int = 5
    same_origin: bool = False


@dataclass(frozen=True, slots=True)
class FetchedDocument:
    """A fetched document and its final URL."""

    url: str
    status: int
    headers: httpx2.Headers
    body: bytes


def fetch(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    bounds: Bounds | None = None,
    allowed: AllowedHosts | None = None,
    transport: GuardedTransport | None = None,
) -> FetchedDocument:
    """Fetch `url` synchronously; return the document whatever its status."""

    async def run() -> FetchedDocument:
        return await fetch_document(
            url, headers=headers, bounds=bounds, allowed=allowed, transport=transport
        )

    return anyio.run(run)


async def fetch_document(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    bounds: Bounds | None = None,
    allowed: AllowedHosts | None = None,
    transport: GuardedTransport | None = None,
) -> FetchedDocument:
    """Fetch `url` within the bounds, checking the address of every redirect."""
    bounds = bounds or Bounds()
    allowed = AllowedHosts.from_settings() if allowed is None else allowed
    transport = transport or GuardedTransport(allowed, most_bytes=bounds.most_bytes)
    sent = httpx2.Headers({"user-agent": _AGENT, **(headers or {})})
    try:
        with anyio.fail_after(bounds.seconds):
            async with httpx2.AsyncClient(
                transport=transport, trust_env=False, timeout=bounds.seconds
            ) as client:
                return await _follow(client, check_address(url, allowed), sent, bounds, allowed)
    except (TimeoutError, httpx2.TransportError):
        raise NotReachableError from None


async def _follow(
    client: httpx2.AsyncClient,
    url: httpx2.URL,
    headers: httpx2.Headers,
    bounds: Bounds,
    allowed: AllowedHosts,
) -> FetchedDocument:
    for _ in range(bounds.redirects + 1):
        # A redirect must not carry cookies from one host to another.
        client.cookies.clear()
        async with client.stream("GET", url, headers=headers, follow_redirects=False) as response:
            target = response.headers.get("location", "")
            if response.status_code not in _REDIRECTS or not target:
                body = await response.aread()
                return FetchedDocument(str(url), response.status_code, response.headers, body)
        following = check_address(_resolve_redirect(url, target), allowed)
        if _origin(following) != _origin(url):
            if bounds.same_origin:
                raise EndpointNotAllowedError
            headers = httpx2.Headers(
                {name: value for name, value in headers.items() if name.lower() in _SAFE_HEADERS}
            )
        url = following
    raise TooManyRedirectsError


def _resolve_redirect(url: httpx2.URL, target: str) -> str:
    try:
        return str(url.join(target))
    except (httpx2.InvalidURL, ValueError):
        return ""


def _origin(url: httpx2.URL) -> tuple[str, bytes, int | None]:
    return url.scheme, url.raw_host, url.port


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
    content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    headers = {"content-type": "application/json"}
    return send_bytes(
        url, content, headers=headers, seconds=seconds, allowed=allowed, transport=transport
    )


def send_bytes(
    url: str,
    body: bytes,
    *,
    headers: Mapping[str, str],
    seconds: float = 10.0,
    allowed: AllowedHosts | None = None,
    transport: GuardedTransport | None = None,
) -> int:
    """POST exactly these bytes and return the status; redirects are not followed."""
    bounds = Bounds(_MOST_BYTES, seconds)
    return post_bytes(
        url, body, headers=headers, bounds=bounds, allowed=allowed, transport=transport
    ).status


def post_bytes(
    url: str,
    body: bytes,
    *,
    headers: Mapping[str, str],
    bounds: Bounds,
    allowed: AllowedHosts | None = None,
    transport: GuardedTransport | None = None,
) -> FetchedDocument:
    """POST exactly these bytes and return the answer; redirects are not followed."""
    allowed = AllowedHosts.from_settings() if allowed is None else allowed
    transport = transport or GuardedTransport(allowed, most_bytes=bounds.most_bytes)

    async def run() -> FetchedDocument:
        with anyio.fail_after(bounds.seconds):
            async with httpx2.AsyncClient(
                transport=transport, trust_env=False, timeout=bounds.seconds
            ) as client:
                answer = await client.post(
                    check_address(url, allowed),
                    content=body,
                    headers={"user-agent": _AGENT, **headers},
                    follow_redirects=False,
                )
                return FetchedDocument(url, answer.status_code, answer.headers, answer.content)

    try:
        return anyio.run(run)
    except (TimeoutError, httpx2.TransportError):
        raise NotReachableError from None
