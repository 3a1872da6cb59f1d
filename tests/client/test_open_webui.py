"""The filter for Open WebUI, loaded and called as Open WebUI does.

Its package is too large to install for a test. `_load` and `_inlet` do what its documentation
and its loader (0.12.4) say: the text is run in a module that is in no list afterwards, settings are
given to `Valves` and `UserValves`, and a filter gets the arguments that its signature names.
"""

import asyncio
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from catalog.models import Capability
from tests.access.people import People
from tests.web.conftest import new_key

FILTER = Path(__file__).parents[2] / "docs" / "examples" / "open_webui_filter.py"
SERVER = "server:mcp:pegboard"


def _load() -> Any:
    text = FILTER.read_text("utf-8")
    first, *head = text.partition('"""\n\n')[0].splitlines()
    assert first == '"""'
    assert {"title", "version", "description"} <= {
        line.partition(":")[0] for line in head if re.fullmatch(r"[a-z_]+: .+", line)
    }
    module = ModuleType("function_pegboard")
    sys.modules[module.__name__] = module
    try:
        exec(text, module.__dict__)  # noqa: S102 - our own file
    finally:
        del sys.modules[module.__name__]
    return module.Filter()


def _inlet(
    instance: Any, stored: dict[str, Any], body: dict[str, Any], user: dict[str, Any], own: str = ""
) -> dict[str, Any]:
    instance.valves = instance.Valves(**stored)
    user = {**user, "valves": instance.UserValves(key=own)}
    given = {"body": body, "__user__": user, "__id__": "pegboard", "__metadata__": {}}
    taken = {name: given[name] for name in inspect.signature(instance.inlet).parameters}
    told: dict[str, Any] = asyncio.run(instance.inlet(**taken))
    return told


@pytest.mark.django_db(transaction=True)
def test_filter_names_what_fits_and_leaves_out_the_rest(
    people: People, notes: Capability, key: str, live_server: LiveServer
) -> None:
    filter_ = _load()
    stored = {"url": live_server.url, "key": key, "user": "name in email", "seconds": 120}
    alice = {"id": "1", "email": "alice@example.com", "name": "charlie", "role": "user"}
    charlie = {**alice, "email": "charlie@example.com"}

    def ask(text: str, user: dict[str, Any] = alice, own: str = "", **other: Any) -> dict[str, Any]:
        asked = [{"role": "user", "content": text}]
        body = {"model": "m", "messages": asked, "tool_ids": ["clock", SERVER]}
        return _inlet(filter_, stored | other.pop("stored", {}), body | other, user, own)

    wish = "write a line to notes__echo"
    system = {"role": "system", "content": "Be brief."}
    fits, chat = ask(wish), ask(wish, messages=[system, {"role": "user", "content": wish}])
    strangers = ask(wish, charlie)
    personal = new_key(people.support, "select", owner=people.alice, acts_for_users=False)
    by_own_key = ask(wish, charlie, personal)  # the key says who it is
    small_talk = ask("thanks!")
    unreachable = ask(wish, stored={"url": "http://127.0.0.1:9"})
    unknown = ask(wish, {**alice, "email": "nobody@example.com"})

    assert fits["tool_ids"] == chat["tool_ids"] == ["clock", SERVER]
    assert [each["role"] for each in fits["messages"]] == ["system", "user"]
    assert "- notes__echo: " in fits["messages"][0]["content"]
    assert '"required": ["text"]' in fits["messages"][0]["content"]
    assert "execute_tool" in fits["messages"][0]["content"]
    assert chat["messages"][0]["content"].startswith("Be brief.\n\nThese tools fit")
    assert len(chat["messages"]) == 2
    assert "- notes__echo: " in by_own_key["messages"][0]["content"]
    assert "notes__echo" not in str(strangers["messages"][:-1])
    assert (small_talk["tool_ids"], len(small_talk["messages"])) == (["clock"], 1)
    assert unreachable["tool_ids"] == unknown["tool_ids"] == ["clock", SERVER]
    assert len(unreachable["messages"]) == len(unknown["messages"]) == 1
