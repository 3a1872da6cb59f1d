"""Every command in the docs runs here, or in another test for a reason."""

import importlib.util
import json
import os
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from pytest_django.live_server_helper import LiveServer

from acl.audit.log_verification import Anchor
from acl.models import AuditHead
from catalog.embedding.shipped_model import prepare_model
from tests.docs.commands import (
    PROJECT,
    Command,
    commands_in,
    commands_of,
    hidden_in,
    hidden_of,
    papers,
)
from tests.docs.elsewhere import ELSEWHERE
from tests.first_steps import first_commands
from tests.web.conftest import new_key

# Long commands run on fewer messages.
_FEWER = {"evaluate": ["--limit", "20"]}
_ASSIGNED = re.compile(r"(?:export )?(\w+)=(.*)", re.DOTALL)
_OPTIONS_WITH_VALUES = {"-H": "header", "-d": "body", "-X": "method", "-o": "output"}
SETTINGS = (PROJECT / "docs" / "settings.md").read_text("utf-8")


class CannotRunError(Exception):
    """No way to run this command here: it needs a line in `elsewhere.py`."""


@dataclass
class Shell:
    """The terminal of one page.

    `stand_ins` replace placeholders for what a reader has: a key, an address, a folder.
    """

    stand_ins: dict[str, Callable[[], str]]
    variables: dict[str, str] = field(default_factory=dict)

    def run(self, command: Command) -> str:
        """Run a command and return its standard output; raise whatever goes wrong."""
        text = command.text
        for written, meant in self.stand_ins.items():
            if written in text:
                text = text.replace(written, meant())
        assigned = _ASSIGNED.fullmatch(text)
        if assigned:
            self._assign(*assigned.groups())
            return ""
        return self._answer_of(shlex.split(self._expanded(text)))

    def _answer_of(self, words: list[str]) -> str:
        if words[:1] == ["curl"]:
            return _curl(words[1:])
        if words[0].endswith("python"):
            words = words[1:]
        if words[:1] == ["manage.py"]:
            return _manage(*words[1:])
        raise CannotRunError

    def _assign(self, name: str, value: str) -> None:
        inner = re.fullmatch(r"\$\((.*)\)", value)
        if inner:
            value = self._answer_of(shlex.split(inner[1])).strip()
        elif f"`{name}`" not in SETTINGS and name not in self.variables:
            raise AssertionError(f"{name} is no setting")
        self.variables[name] = value

    def _expanded(self, text: str) -> str:
        unknown = set(re.findall(r"\$(\w+)", text)) - self.variables.keys() - os.environ.keys()
        if unknown:
            raise AssertionError(f"nothing has set {', '.join(sorted(unknown))}")
        return re.sub(r"\$(\w+)", lambda found: self.variables.get(found[1], found[0]), text)


def _manage(name: str, *arguments: str) -> str:
    told = StringIO()
    try:
        call_command(name, *arguments, *_FEWER.get(name, ()), stdout=told)
    except SystemExit as left:
        if left.code:
            raise CommandError(f"exit code {left.code}") from left
    return told.getvalue()


def _curl(words: list[str]) -> str:
    """Run curl with the options that the docs use; another one is an error."""
    address, method, headers, body = "", "", dict[str, str](), None
    left = iter(words)
    for word in left:
        kind = _OPTIONS_WITH_VALUES.get(word)
        value = next(left) if kind else word
        if kind == "header":
            name, _, text = value.partition(": ")
            headers[name] = text
        elif kind == "body":
            body = value
        elif kind == "method":
            method = value
        elif kind is None and not word.startswith("-"):
            address = word
        elif kind is None and word not in {"-s", "-f", "-i", "--fail"}:
            raise CannotRunError
    if headers.get("Content-Type") == "application/json":
        json.loads(body or "")
    method = method or ("GET" if body is None else "POST")
    response = httpx.request(method, address, headers=headers, content=body, timeout=120)
    if not response.is_success:
        raise AssertionError(f"{response.status_code}: {response.text[:300]}")
    return response.text


def folder_of_a_skill(parent: Path) -> Path:
    """Create a small catalogue and return its folder."""
    skill = parent / "tides" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(
        "---\nname: tides\ndescription: Says when it is high tide at a place.\n---\nLook it up.\n"
    )
    return parent


COMMANDS = [command for paper in papers() for command in commands_in(paper)]


def _is_run_here(command: Command) -> bool:
    return not any(elsewhere.covers(command.text) for elsewhere in ELSEWHERE)


@pytest.fixture
def _installed(transactional_db: None) -> None:
    """Load the starter collection and create the first admin, as set-up does."""
    prepare_model(settings.PEGBOARD_MODEL_DIR)
    call_command("load_starter", verbosity=0)
    call_command("embed_pending", verbosity=0)
    admin = User.objects.create_superuser("admin", password="correct horse battery")
    admin.groups.set(Group.objects.all())


@pytest.fixture
def stand_ins(
    _installed: None, live_server: LiveServer, tmp_path: Path
) -> dict[str, Callable[[], str]]:
    """Return replacements for the docs' placeholders."""
    everyone = Group.objects.get(name="everyone")
    User.objects.create_user("alice").groups.add(everyone)
    key = new_key(everyone, "select", "discover", "execute", "admin")
    folder = folder_of_a_skill(tmp_path / "own")

    def anchors() -> str:
        head = AuditHead.objects.get()
        file = tmp_path / "anchors"
        file.write_text(Anchor(head.number, head.digest).line("2026-03-01T12:00:00+00:00"))
        return str(file)

    def turn() -> str:
        headers = {"Authorization": f"Bearer {key}"}
        body = {"message": "hello", "user": "alice"}
        answer = httpx.post(
            f"{live_server.url}/api/v1/plan", headers=headers, json=body, timeout=60
        )
        return f"/turns/{answer.json()['turn_id']}/"

    return {
        "http://localhost:8000": lambda: live_server.url,
        "pb_…": lambda: key,
        "/turns/6f2c…/": turn,
        "path/to/folder": lambda: str(folder),
        "/var/log/pegboard/anchors": anchors,
        "3dc25e4e…": lambda: AuditHead.objects.get().digest,
    }


@pytest.mark.django_db(transaction=True)
def test_every_command_works(
    stand_ins: dict[str, Callable[[], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    failed, answers = [], dict[str, str]()
    for paper in papers():
        shell = Shell(stand_ins)
        for command in filter(_is_run_here, commands_in(paper)):
            try:
                answers[command.text] = shell.run(command)
            except CannotRunError:
                failed.append(
                    f"{command}\n  nobody runs it: say in elsewhere.py why, and what does"
                )
            except (Exception, SystemExit) as error:
                failed.append(f"{command}\n  {type(error).__name__}: {error}")

    assert not failed, "\n".join(failed)
    _is_as_the_readme_shows(json.loads(answers[first_commands(PROJECT)[-1]]))


def _is_as_the_readme_shows(answer: dict[str, Any]) -> None:
    example = (PROJECT / "README.md").read_text("utf-8").split("The answer, shortened:")[1]
    example = example.split("```")[1]
    shown = set(re.findall(r'^  "(\w+)":', example, re.MULTILINE))
    reasons = re.findall(r'^        "(.*)",?$', example, re.MULTILINE)
    names = [item["full_name"] for item in answer["selected"]]
    assert names[0] == "slack"
    assert "gmail__send_email" in names
    assert shown <= answer.keys()
    assert answer["selected"][0]["reasons"] == reasons
    for name in ("excluded_count", "reason", "tokens"):
        assert f'"{name}": {json.dumps(answer[name])},' in example
    [score] = re.findall(r'"score": (0\.\d+)', example)
    assert float(score) == pytest.approx(answer["selected"][0]["score"], abs=0.01)
    assert all("input_schema" in tool for tool in answer["tools"])


def test_commands_stand_in_blocks_that_say_so() -> None:
    hidden = [str(command) for paper in papers() for command in hidden_in(paper)]

    assert not hidden, "give these blocks the kind `sh`:\n" + "\n".join(hidden)


def test_commands_are_found_as_a_shell_reads_them() -> None:
    paper = PROJECT / "docs" / "made-up.md"
    text = """
```sh
# what it is for
curl http://localhost/ \\
  -d '{"a":
  1}'   # someone's
make run      # it's on
```
```console
$ make test
what it says
```
```
make lint
```
```
make bench
  → a drawing
```
"""

    found = [command.text for command in commands_of(paper, text)]

    assert found == ["curl http://localhost/   -d '{\"a\":\n  1}'", "make run", "make test"]
    assert [str(hidden) for hidden in hidden_of(paper, text)] == ["docs/made-up.md:14: make lint"]


def test_what_is_run_elsewhere_is() -> None:
    for elsewhere in ELSEWHERE:
        path, _, name = elsewhere.test.partition("::")

        assert re.search(rf"^def {name}\(", (PROJECT / path).read_text("utf-8"), re.MULTILINE), path
        assert any(elsewhere.covers(command.text) for command in COMMANDS), elsewhere.pattern


def test_programs_that_are_named() -> None:
    """Check modules run by hand, and the paths they are given."""
    for command in COMMANDS:
        found = re.search(r"python -m (\S+)(.*)", command.text)
        if found:
            paths = re.findall(r"(?<= )(?:tests|docs|marketplace)/[\w./-]+", found[2])
            assert importlib.util.find_spec(found[1]), str(command)
            assert all((PROJECT / path).exists() for path in paths), str(command)
    assert importlib.util.find_spec("lab.bench.__main__")
