"""Bodies that are not strict JSON: refused with their place at each edge, and never stored."""

import json
import shutil
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from discovery.models import Call
from tests.access.people import People, invite
from tests.mcp.asking import error, send
from tests.web.conftest import new_key

pytestmark = pytest.mark.django_db
SAMPLES = Path(__file__).parents[1] / "formats" / "samples"


@pytest.fixture
def people() -> People:
    return invite()


@pytest.fixture
def key(people: People) -> str:
    return new_key(
        people.support, "select", "discover", "execute", owner=people.alice, acts_for_users=False
    )


VALUES = [
    ("1e999", "1e999 is too large (line 2, column"),
    ("-1e400", "-1e400 is too large (line 2, column"),
    ("NaN", "NaN is no JSON number (line 2, column"),
    ("Infinity", "Infinity is no JSON number (line 2, column"),
    ("9" * 5_000, "a number of more than 300 digits (line 2, column"),
    ("1e-999", "1e-999 is too small (line 2, column"),
    ('{"b":1,"b":2}', "the key 'b' occurs twice"),
    ("[" * 40 + "]" * 40, "nested more than 32 deep (line 2, column"),
    ('"\\u0000"', "a NUL character or half a surrogate pair"),
    ('"\\ud800"', "a NUL character or half a surrogate pair"),
]
BODIES = {
    "execute": '{{"name": "gmail__send_email", "arguments":\n {{"to": {0}}}}}',
    "meta/execute_tool": '{{"arguments":\n {{"name": "x", "arguments": {{"to": {0}}}}}}}',
    "select": '{{"message":\n {0}}}',
    "discover": '{{"message":\n {0}}}',
}


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize(("value", "reason"), VALUES)
def test_a_body_is_refused_with_its_place_and_nothing_is_stored(
    key: str, path: str, value: str, reason: str
) -> None:
    answer = Client(headers={"Authorization": f"Bearer {key}"}).post(
        f"/api/v1/{path}", BODIES[path].format(value), "application/json"
    )

    assert answer.status_code == 400
    assert reason in answer.json()["detail"]
    assert not Call.objects.exists()


@pytest.mark.parametrize("value", [value for value, _ in VALUES])
def test_a_message_of_mcp_is_refused_as_one(key: str, value: str) -> None:
    body = (
        '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "execute_tool", '
        f'"arguments": {{"name": "gmail__send_email", "arguments": {{"to": {value}}}}}}}}}'
    )

    assert error(send(key, body)) == (400, -32700)
    assert not Call.objects.exists()


@pytest.mark.parametrize("kind", sorted(one.name for one in SAMPLES.iterdir()))
def test_an_import_survives_nul_characters_and_half_surrogates_everywhere(
    tmp_path: Path, kind: str
) -> None:
    """In all texts of all samples, what Postgres rejects is removed, or the entry is refused."""
    folder = tmp_path / kind
    shutil.copytree(SAMPLES / kind, folder)
    for file in folder.rglob("*.json*"):
        spoil(file)

    call_command("import_catalog", str(folder), "--json", stdout=StringIO())


def spoil(file: Path) -> None:
    lines = (
        file.read_text("utf-8").splitlines()
        if file.suffix == ".jsonl"
        else [file.read_text("utf-8")]
    )
    try:
        spoiled = [json.dumps(_spoiled(json.loads(line))) for line in lines if line.strip()]
    except ValueError:
        return  # a sample that is not JSON on purpose
    file.write_text("\n".join(spoiled))


def _spoiled(value: Any) -> Any:
    if isinstance(value, str):
        return f"{value}\x00\ud800"
    if isinstance(value, dict):
        return {f"{name}": _spoiled(part) for name, part in value.items()} | {"x\x00\udfff": "\x00"}
    if isinstance(value, list):
        return [_spoiled(part) for part in value]
    return value
