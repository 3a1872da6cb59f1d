"""The README's first request, done as it is written there, against a real server."""

import json
import re
import shlex
from io import StringIO
from pathlib import Path

import httpx
import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from pytest_django.live_server_helper import LiveServer

from catalog.embedding.convert import convert_model

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def words_of(start: str) -> list[str]:
    """The README's command that begins so, as a shell would split it."""
    found = re.search(rf"{re.escape(start)}(?:[^\n]*\\\n)*[^\n]*", README)
    assert found
    return shlex.split(found[0].replace("\\\n", " ").rstrip(")"))


@pytest.fixture
def _installed(transactional_db: None) -> None:
    """What set-up leaves behind: the starter collection, and the first admin who may use it."""
    convert_model(settings.PEGBOARD_MODEL_DIR)
    call_command("load_starter", verbosity=0)
    call_command("embed_pending", verbosity=0)
    admin = User.objects.create_superuser("admin", password="correct horse battery")
    admin.groups.set(Group.objects.all())


@pytest.mark.usefixtures("_installed")
def test_first_request_selects_slack_and_mail(live_server: LiveServer) -> None:
    key = StringIO()
    call_command(*words_of("create_api_key --group"), stdout=key)
    _, address, *options = words_of("curl http")
    sent = [text.replace("$PEGBOARD_KEY", key.getvalue().strip()) for text in options[1::2]]

    response = httpx.post(
        address.replace("http://localhost:8000", live_server.url),
        headers=dict(header.split(": ") for header in sent[:-1]),
        content=sent[-1],
        timeout=60,  # the machine may be busy with other tests
    )

    answer = response.json()
    names = [item["full_name"] for item in answer["selected"]]
    assert names[0] == "slack"
    assert "gmail__send_email" in names
    assert shown_keys() <= answer.keys()
    assert all("input_schema" in tool for tool in answer["tools"])


def shown_keys() -> set[str]:
    """The fields that the README shows of the answer."""
    example = README.split("The answer, shortened:")[1].split("```")[1]
    return set(re.findall(r'^  "(\w+)":', example, re.MULTILINE))


def test_body_of_the_first_request_is_json() -> None:
    words = words_of("curl http")

    body = json.loads(words[words.index("-d") + 1])

    assert body["user"] == "admin"
