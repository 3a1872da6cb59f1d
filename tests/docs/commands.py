"""Commands in the docs: fenced shell blocks, split into commands.

It uses only the standard library, because `make first-steps` reads the README with it before
anything is installed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

PROJECT = Path(__file__).parents[2]
SHELLS = {"sh", "bash", "shell", "console"}
_FENCE = re.compile(r"^\s*(```+|~~~+)\s*(\w*)")
_LOOKS_LIKE_ONE = re.compile(
    r"^(\$ |(sudo )?(make|curl|python3?|pip|uv|docker|git|cp|export|manage\.py|celery|gunicorn|"
    r"pg_dump|psql|kubectl|\.venv/bin/\w+)\b(?!.*:$))"
)


@dataclass(frozen=True)
class Command:
    """A command as written, and its place."""

    paper: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.paper.relative_to(PROJECT)}:{self.line}: {self.text}"


@dataclass(frozen=True)
class Block:
    """A fenced block: its kind, first line number, and lines."""

    kind: str
    line: int
    lines: tuple[str, ...]


def blocks_in(text: str) -> Iterator[Block]:
    """Yield every fenced block."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        opening = _FENCE.match(lines[number])
        if opening:
            start = number + 1
            number = start
            while number < len(lines) and not lines[number].strip().startswith(opening[1]):
                number += 1
            yield Block(opening[2], start + 1, tuple(lines[start:number]))
        number += 1


def commands_in(paper: Path) -> list[Command]:
    """Return the commands in a page's shell blocks."""
    return commands_of(paper, paper.read_text("utf-8"))


def commands_of(paper: Path, text: str) -> list[Command]:
    """Return the commands in a text, without comments; in a `console`, those after `$ `."""
    found = []
    for block in blocks_in(text):
        if block.kind in SHELLS:
            lines = list(enumerate(block.lines, block.line))
            if block.kind == "console":
                lines = [(number, line[2:]) for number, line in lines if line.startswith("$ ")]
            found += [Command(paper, number, command) for number, command in _joined(lines)]
    return found


def hidden_in(paper: Path) -> list[Command]:
    """Return commands in blocks without a kind: nothing would run them."""
    return hidden_of(paper, paper.read_text("utf-8"))


def hidden_of(paper: Path, text: str) -> list[Command]:
    """Return commands in blocks without a kind in a text; drawings with arrows do not count."""
    return [
        Command(paper, block.line, block.lines[0])
        for block in blocks_in(text)
        if not block.kind
        and block.lines
        and _LOOKS_LIKE_ONE.match(block.lines[0])
        and not re.search("[→⇢]", "".join(block.lines))
    ]


def _joined(lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Join continued lines: those that end in a backslash, or inside quotes."""
    begun, at = "", 0
    for number, line in lines:
        if not begun and (not line.strip() or line.lstrip().startswith("#")):
            continue
        at = at if begun else number
        begun = _without_comment(begun + line)
        if begun.endswith("\\"):
            begun = begun[:-1].rstrip() + " "
        elif begun.count("'") % 2:
            begun += "\n"
        else:
            yield at, begun.strip()
            begun = ""
    if begun:
        yield at, begun.strip()


def _without_comment(text: str) -> str:
    """Cut a comment, unless it is inside quotes."""
    found = re.search(r"\s+# .*$", text)
    return text[: found.start()] if found and text[: found.start()].count("'") % 2 == 0 else text


def papers() -> list[Path]:
    """Return every page of the docs."""
    folders = (PROJECT / "docs", PROJECT / "lab")
    return [*sorted(PROJECT.glob("*.md")), *sorted(chain(*(f.rglob("*.md") for f in folders)))]
