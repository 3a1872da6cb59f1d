"""The official SDK's OAuth client, with a person at a browser, against the real server."""

import asyncio
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from django.test import override_settings
from mcp.client import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from tests.access.people import People
from tests.mcp.signing_in import browser

REDIRECT = "http://localhost:3030/callback"


class Storage:
    """The client's memory of its registration and tokens."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Person:
    """A person at a browser, who signs in and agrees to what the client asks."""

    def __init__(self, people: People) -> None:
        self._people = people
        self._went_to = ""
        self.agreed: list[dict[str, list[str]]] = []

    async def open(self, address: str) -> None:
        self._went_to = address

    async def come_back(self) -> AuthorizationCodeResult:
        parts = urlsplit(self._went_to)
        back = await asyncio.to_thread(self._agree, f"{parts.path}?{parts.query}", parts.netloc)
        self.agreed.append(parse_qs(parts.query))
        told = parse_qs(urlsplit(back).query)
        return AuthorizationCodeResult(
            code=told["code"][0], state=told["state"][0], iss=told["iss"][0]
        )

    def _agree(self, path: str, host: str) -> str:
        client = browser(self._people.alice, headers={"Host": host})
        page = client.get(path)
        assert page.status_code == 200, page.content
        return str(client.post(path, {"decision": "allow"})["Location"])


@pytest.fixture
def address(live_server: LiveServer) -> Iterator[str]:
    with override_settings(ALLOWED_HOSTS=["*"], PEGBOARD_RATE_REGISTRATIONS=10_000_000):
        yield f"{live_server.url}/mcp"


def provider(
    address: str, storage: Storage, person: Person, client_metadata_url: str | None = None
) -> OAuthClientProvider:
    metadata = OAuthClientMetadata(client_name="SDK", redirect_uris=[REDIRECT])  # type: ignore[list-item]
    return OAuthClientProvider(
        server_url=address,
        client_metadata=metadata,
        storage=storage,
        redirect_handler=person.open,
        callback_handler=person.come_back,
        client_metadata_url=client_metadata_url,
    )


async def drive(
    address: str, auth: OAuthClientProvider, tool: str, arguments: dict[str, Any] | None = None
) -> dict[str, Any]:
    async with (
        httpx2.AsyncClient(auth=auth, timeout=30, trust_env=False) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        return {
            "tools": [one.name for one in (await client.list_tools()).tools],
            "called": await client.call_tool(tool, arguments or {}),
        }


@pytest.fixture(autouse=True)
def _settings_of_sign_in(settings: Settings) -> None:
    """Let all tests register from one address."""
    settings.PEGBOARD_RATE_REGISTRATIONS = settings.PEGBOARD_RATE_PER_ADDRESS = 10_000_000
