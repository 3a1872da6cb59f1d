"""The official SDK's OAuth client against the real server, over real HTTP."""

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
from pytest_django.live_server_helper import LiveServer

from acl.models import ClientConnection
from catalog.models import Capability
from tests.access.people import People, invite
from tests.factories import CapabilityFactory
from tests.mcp.signing_in import browser

REDIRECT = "http://localhost:3030/callback"
pytestmark = pytest.mark.processes


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
def people(transactional_db: None) -> People:
    return invite()


@pytest.fixture
def address(live_server: LiveServer) -> Iterator[str]:
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    default = {"BACKEND": "django.core.files.storage.FileSystemStorage"}
    storages = {"default": default, "staticfiles": plain}
    with override_settings(
        ALLOWED_HOSTS=["*"], STORAGES=storages, PEGBOARD_RATE_REGISTRATIONS=10_000_000
    ):
        yield f"{live_server.url}/mcp"


def provider(address: str, storage: Storage, person: Person) -> OAuthClientProvider:
    metadata = OAuthClientMetadata(client_name="SDK", redirect_uris=[REDIRECT])  # type: ignore[list-item]
    return OAuthClientProvider(
        server_url=address,
        client_metadata=metadata,
        storage=storage,
        redirect_handler=person.open,
        callback_handler=person.come_back,
    )


async def drive(address: str, storage: Storage, person: Person, tool: str) -> dict[str, Any]:
    auth = provider(address, storage, person)
    async with (
        httpx2.AsyncClient(auth=auth, timeout=30, trust_env=False) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        return {
            "tools": [one.name for one in (await client.list_tools()).tools],
            "called": await client.call_tool(tool, {}),
        }


def test_client_discovers_registers_signs_in_calls_and_refreshes(
    people: People, address: str
) -> None:
    skill = CapabilityFactory.create(
        integration=people.gmail,
        kind=Capability.Kind.SKILL,
        action="polite_letters",
        content="Begin with a greeting.",
        input_schema=None,
    )
    storage, person = Storage(), Person(people)

    first = asyncio.run(drive(address, storage, person, skill.full_name))

    assert skill.full_name in first["tools"]
    assert first["called"].content[0].text == "Begin with a greeting."
    assert person.agreed[0]["resource"] == [address]
    assert ClientConnection.objects.get().resource == address

    before = storage.tokens
    assert before is not None
    storage.tokens = before.model_copy(update={"access_token": "pbo_gone", "expires_in": -1})
    again = asyncio.run(drive(address, storage, person, skill.full_name))
    assert again["called"].content == first["called"].content
    assert storage.tokens.access_token != before.access_token
