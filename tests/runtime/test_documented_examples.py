"""The examples of runtime capabilities in docs/sources.md are run as they stand there."""

import json
import re
from pathlib import Path

import pytest

from catalog.runtime.service import RUNTIME_KINDS
from tests.access.people import People
from tests.runtime.conftest import key_of, post

DOCS = (Path(__file__).parents[2] / "docs/sources.md").read_text("utf-8")
# Kind, body, and who carries out the call.
EXAMPLES = re.findall(r"^\| `([a-z-]+)` \| `(\{.+\})` \| (.+) \|$", DOCS, re.M)


def test_each_kind_has_an_example() -> None:
    assert {kind for kind, _, _ in EXAMPLES} == set(RUNTIME_KINDS)


@pytest.mark.django_db
@pytest.mark.parametrize(("kind", "body", "called_by"), EXAMPLES)
def test_documented_example_is_made_and_called(
    people: People, kind: str, body: str, called_by: str
) -> None:
    client = key_of(people.alice)

    made = post(client, json.loads(body))

    assert (made.status_code, made.json()["kind"]) == (201, kind), made.json()
    called = post(client, {"name": made.json()["full_name"]}, "execute").json()
    by_pegboard = called_by == "Pegboard returns `content`"
    assert called["status"] == ("completed" if by_pegboard else "client_executes")
    assert called.get("content") == (json.loads(body)["content"] if by_pegboard else None)
