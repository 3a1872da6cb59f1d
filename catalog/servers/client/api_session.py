"""Calls of an HTTP API by its OpenAPI document, through the guarded door.

It has the methods of an MCP session, so that limits, failures and health are the same for both.
Requests go to the confirmed address only; redirects are not followed, and nothing of a request is
logged. The document itself is fetched without secrets.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import anyio
import httpx2

from catalog.formats.descriptors import JSONObject
from catalog.formats.files import RefusedError, decode
from catalog.formats.openapi.api_document import LIMITS
from catalog.formats.openapi.api_requests import (
    ApiRequest,
    ArgumentRefusedError,
    build_request,
    join_pages,
    next_page,
    parse_answer,
    shape_answer,
    shape_json,
)
from catalog.formats.openapi.api_security import CredentialsMissingError, credentials_for
from catalog.servers.client._sdk_errors import explain_compressed
from catalog.servers.client.document_readers import fetch_parts, read_api_text
from catalog.servers.client.http_transport import read_limit, read_retry_after
from catalog.servers.client.mcp_session import ToolResult, Tools
from catalog.servers.client.server_problems import Reason, ServerProblemError, limited
from catalog.servers.client.targets import DEFAULT_LIMITS, ApiServer, ServerLimits
from catalog.servers.net.address_check import (
    AllowedHosts,
    AnswerTooLargeError,
    CompressedAnswerError,
    EndpointNotAllowedError,
    OutgoingError,
    check_address,
)
from catalog.servers.net.guarded_requests import Bounds, fetch_document
from catalog.servers.net.guarded_transport import GuardedTransport

_DOCUMENT = Bounds(most_bytes=LIMITS.file, seconds=60)
_AGENT = "Pegboard"
_REFUSED_EVERYWHERE = 3
_CREATED = frozenset({201, 202})  # what came of it is often told by its address alone
_LONGEST_LOCATION = 500
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class ApiSession:
    """A session with one API. Every failure is a ServerProblemError."""

    def __init__(
        self,
        server: ApiServer,
        *,
        limits: ServerLimits = DEFAULT_LIMITS,
        allowed: AllowedHosts | None = None,
    ) -> None:
        self._server = server
        self._limits = limits
        self._allowed = allowed or AllowedHosts.from_settings()
        self._client: httpx2.AsyncClient | None = None
        self._refused: set[str] = set()  # operations, since the last that was not

    @property
    def is_open(self) -> bool:
        """Return True while requests can be sent."""
        return self._client is not None

    async def open(self) -> None:
        """Check the address, and make the client; nothing is sent yet."""
        try:
            check_address(self._server.url, self._allowed)
        except EndpointNotAllowedError:
            raise ServerProblemError(Reason.NOT_ALLOWED) from None
        self._client = httpx2.AsyncClient(
            transport=GuardedTransport(self._allowed, most_bytes=self._limits.body_bytes),
            headers={"user-agent": _AGENT},
            timeout=self._limits.call_seconds,
            trust_env=False,
            follow_redirects=False,
        )

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def tools(self) -> Tools:
        """Return the chosen operations of the document, which is fetched anew if it has an
        address."""
        text = self._server.document
        if self._server.document_url:
            text = await self._fetch_document()
        try:
            # Reading ten megabytes takes a second, in which calls of others go on.
            tools = await asyncio.to_thread(self._read_tools, text)
        except RefusedError as refused:
            raise ServerProblemError(
                Reason.WRONG_ANSWER, f"The OpenAPI document {refused.reason}."
            ) from None
        most = self._limits.tools
        if len(tools) > most:
            return Tools(tools[:most], f"It has more than {most:,} tools; the others are left out.")
        return Tools(tools)

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        seconds: float | None = None,
        sending: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        """Send one request, and one for each further page that was asked for."""
        if not sending:
            raise ServerProblemError(Reason.CHANGED)
        request = self._build(dict(sending), arguments)
        sent = False
        try:
            with anyio.fail_after(seconds or self._limits.call_seconds):
                sent = True
                return await self._send(request)
        except ServerProblemError:
            raise
        except EndpointNotAllowedError:
            raise ServerProblemError(Reason.NOT_ALLOWED) from None
        except AnswerTooLargeError:
            raise ServerProblemError(Reason.TOO_LARGE, sent=sent) from None
        except CompressedAnswerError as compressed:
            raise explain_compressed(compressed).after_sending() from None
        except TimeoutError:
            raise ServerProblemError(Reason.NO_ANSWER, sent=sent) from None
        except (OutgoingError, httpx2.HTTPError, httpx2.StreamError):
            raise ServerProblemError(Reason.NOT_REACHABLE, sent=sent) from None

    def _build(self, sending: JSONObject, arguments: dict[str, Any]) -> ApiRequest:
        server = self._server
        try:
            credentials = credentials_for(
                sending.get("security") or [], server.schemes, server.values
            )
            return build_request(server.url, sending, arguments, credentials)
        except CredentialsMissingError as missing:
            raise ServerProblemError(Reason.SIGN_IN_NEEDED, f"Not set: {missing}") from None
        except ArgumentRefusedError as refused:
            raise ServerProblemError(Reason.REFUSED, str(refused)) from None

    async def _send(self, request: ApiRequest) -> ToolResult:
        response, body = await self._request(request, request.url)
        if target := _redirect(request.url, response):
            if request.method.upper() != "GET" or _origin(target) != _origin(request.url):
                return _unfollowed(response.status_code, target)
            response, body = await self._request(request, target)
            if further := _redirect(target, response):
                return _unfollowed(response.status_code, further)
        self._judge(request, response)
        kind = _kind_of(response)
        if request.pages > 1 and response.status_code < 300:
            return await self._follow_pages(request, response, body)
        content, structured, is_error = shape_answer(
            response.status_code, kind, body, fields=request.fields
        )
        location = str(response.headers.get("location", ""))[:_LONGEST_LOCATION]
        if response.status_code in _CREATED and location:
            content = [*content, {"type": "text", "text": f"Location: {location}"}]
        return ToolResult(content, structured, is_error)

    def _judge(self, request: ApiRequest, response: httpx2.Response) -> None:
        """Raise what an answer says about the account.

        One operation's refusal is that operation's. The credential is refused only where several
        are, one after the other.
        """
        if (limit := read_limit(response)) is not None:
            raise limited(limit, read_retry_after(response)).after_sending()
        if response.status_code != 401:
            self._refused.clear()
            return
        self._refused.add(f"{request.method} {request.url.partition('?')[0]}")
        is_refused_everywhere = len(self._refused) >= _REFUSED_EVERYWHERE
        reason = Reason.SIGN_IN_NEEDED if is_refused_everywhere else Reason.NOT_PERMITTED
        raise ServerProblemError(reason, "It answers with status 401.", sent=True)

    async def _follow_pages(
        self, request: ApiRequest, response: httpx2.Response, body: bytes
    ) -> ToolResult:
        """Follow `Link: rel="next"` to pages of the same operation."""
        pages, taken = [parse_answer(body, _kind_of(response))], len(body)
        while len(pages) < request.pages:
            url = next_page(request, response.headers.get("link", ""), self._server.url)
            if not url:
                break
            response, body = await self._request(request, url)
            taken += len(body)
            if response.status_code != 200 or taken > self._limits.body_bytes:
                break
            pages.append(parse_answer(body, _kind_of(response)))
        content, structured, is_error = shape_json(200, join_pages(pages), fields=request.fields)
        return ToolResult(content, structured, is_error)

    async def _request(self, request: ApiRequest, url: str) -> tuple[httpx2.Response, bytes]:
        client = self._client
        if client is None:
            raise ServerProblemError(Reason.STOPPED)
        # A cookie that the API sets for one caller must not go along with the call of another.
        client.cookies.clear()
        response = await client.request(
            request.method,
            check_address(url, self._allowed),
            headers=dict(request.headers),
            content=request.content or None,
        )
        client.cookies.clear()
        return response, response.content

    async def _fetch_document(self) -> str:
        try:
            answer = await fetch_document(
                self._server.document_url, bounds=_DOCUMENT, allowed=self._allowed
            )
            if answer.status != 200:
                raise ServerProblemError(
                    Reason.WRONG_ANSWER, f"The OpenAPI document answers {answer.status}."
                )
            # The parts are asked for one after the other, in which calls of others go on.
            return await asyncio.to_thread(
                fetch_parts, decode(answer.body), answer.url, allowed=self._allowed
            )
        except EndpointNotAllowedError:
            raise ServerProblemError(Reason.NOT_ALLOWED) from None
        except AnswerTooLargeError:
            raise ServerProblemError(Reason.TOO_LARGE) from None
        except CompressedAnswerError as compressed:
            raise explain_compressed(compressed) from None
        except (OutgoingError, httpx2.HTTPError, httpx2.StreamError):
            raise ServerProblemError(Reason.NOT_REACHABLE) from None
        except RefusedError as refused:
            raise ServerProblemError(Reason.WRONG_ANSWER, f"It {refused.reason}.") from None

    def _read_tools(self, text: str) -> list[JSONObject]:
        server = self._server
        api = read_api_text(
            text,
            file="openapi",
            came_from=server.document_url,
            address=server.url,
            chosen=server.chosen,
        )
        return api.tools()


def _redirect(url: str, response: httpx2.Response) -> str:
    """Return the address that an answer redirects to, or ""."""
    location = str(response.headers.get("location", ""))
    if response.status_code not in _REDIRECTS or not location:
        return ""
    try:
        return str(httpx2.URL(url).join(location))
    except (httpx2.InvalidURL, ValueError):
        return ""


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = httpx2.URL(url)
    return parts.scheme, parts.host, parts.port


def _unfollowed(status: int, target: str) -> ToolResult:
    """Return an error that says where to: the secrets go to the confirmed origin only."""
    where = target.partition("?")[0].partition("#")[0][:500]
    words = (
        f"HTTP {status}: it redirects to {where}. Redirects are followed by GET only, and once, "
    )
    text = f"{words}within the same origin. If the API has moved there, change its address."
    return ToolResult([{"type": "text", "text": text}], is_error=True)


def _kind_of(response: httpx2.Response) -> str:
    return str(response.headers.get("content-type", ""))
