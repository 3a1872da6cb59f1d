"""Run commands of the docs against the servers of the tests, in this process.

It is the same code as at the prompt, without a process for each.
"""

import json
import os
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

import httpx
from django.core.management import CommandError, call_command

from tests.docs.commands import PROJECT, Command

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
