"""The official SDK's OAuth client against the real server, over real HTTP."""

import asyncio

import pytest

from acl.models import ClientConnection
from catalog.models import Capability
from tests.access.people import People, invite
from tests.factories import CapabilityFactory
from tests.mcp.sdk_client import Person, Storage, drive, provider
from tests.mcp.sdk_client import address as address

pytestmark = pytest.mark.processes


@pytest.fixture
def people(transactional_db: None) -> People:
    return invite()


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

    first = asyncio.run(drive(address, provider(address, storage, person), skill.full_name))

    assert skill.full_name in first["tools"]
    assert first["called"].content[0].text == "Begin with a greeting."
    assert person.agreed[0]["resource"] == [address]
    assert ClientConnection.objects.get().resource == address

    before = storage.tokens
    assert before is not None
    storage.tokens = before.model_copy(update={"access_token": "pbo_gone", "expires_in": -1})
    again = asyncio.run(drive(address, provider(address, storage, person), skill.full_name))
    assert again["called"].content == first["called"].content
    assert storage.tokens.access_token != before.access_token
