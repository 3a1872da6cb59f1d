"""Fixtures of meta-tools: people, and calls for alice."""

from collections.abc import Callable
from typing import Any

import pytest

from acl.platform.redis_circuit import redis_circuit
from discovery.mcp.answers.dispatch import call_meta_tool
from tests.access.people import People, invite

Call = Callable[..., dict[str, Any]]


@pytest.fixture
def people(db: None) -> People:
    return invite()


@pytest.fixture
def call(people: People) -> Call:
    def for_alice(tool: str, /, **arguments: Any) -> dict[str, Any]:
        return call_meta_tool(caller=people.caller, name=tool, arguments=arguments)

    return for_alice


@pytest.fixture(autouse=True)
def _working_redis() -> None:
    """Reset Redis in case a test broke it."""
    redis_circuit.close()
