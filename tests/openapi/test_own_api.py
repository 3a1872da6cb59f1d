"""Pegboard's own document is one of those that it reads, and each of its operations can be sent."""

import asyncio
import json

import pytest
from drf_spectacular.generators import SchemaGenerator

from catalog.formats.readers.openapi import read_api
from catalog.servers.client.api_session import ApiSession
from catalog.servers.client.targets import ApiServer
from tests.connections.http_limits import LOOPBACK
from tests.openapi.mock import mock_api

pytestmark = pytest.mark.django_db


def test_own_document_becomes_tools_that_reach_their_operations() -> None:
    schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    document = json.loads(json.dumps(schema, default=str))

    with mock_api(document) as server:
        api = read_api(document, file="own", address=server.url)
        reading = [one for one in api.operations if one.method == "GET" and "{" not in one.path]

        async def run() -> None:
            security = api.integration.source_ref["security"]
            values = {one["name"]: "a-key" for one in api.integration.source_ref["variables"]}
            session = ApiSession(ApiServer(server.url, security, values), allowed=LOOPBACK)
            await session.open()
            for one in reading:
                sending = one.tool["annotations"]["http"]
                await session.call(one.name, {}, seconds=20, sending=sending)

        asyncio.run(run())

    assert api.defects == ()
    assert len(api.operations) > 60
    assert "start_installation" in {one.name for one in api.operations}
    assert [one.template for one in server.asked] == [one.path for one in reading]
