"""Fixtures of meta-tools: people, and calls for alice."""

from collections.abc import Callable
from typing import Any

import pytest

from discovery.mcp.answers.dispatch import call_meta_tool
from tests.access.people import People

Call = Callable[..., dict[str, Any]]


@pytest.fixture
def call(people: People) -> Call:
    def for_alice(tool: str, /, **arguments: Any) -> dict[str, Any]:
        return call_meta_tool(caller=people.caller, name=tool, arguments=arguments)

    return for_alice
