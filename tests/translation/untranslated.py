"""Texts of templates outside translation: `python -m tests.translation.untranslated [folder]`.

Among them are variables with texts that are stored in English.

Elements with `translate="no"`, as HTML has it, and elements of code are left as they are.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from django.template.base import Lexer, TokenType

TEMPLATES = Path("templates")
# Names and units that are the same in every language.
NAMES = re.compile(
    r"\b(Pegboard|MCP|API|URL|JSON|OpenAPI|GitHub|npm|PyPI|Python|OAuth|CSV|ms|px|kB|MB|p50|p95)\b"
)
SPOKEN = re.compile(r"[^\W\d_]{2,}")
# Attributes that a person reads or hears.
READ = frozenset(
    [
        "title",
        "aria-label",
        "aria-description",
        "aria-roledescription",
        "placeholder",
        "alt",
        "label",
        "data-confirm",
        "data-label",
        "data-title",
        "data-text",
    ]
)
CODE = frozenset(["script", "style", "code", "pre", "kbd", "samp"])
VOID = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "source",
        "track",
        "wbr",
    ]
)
# Attributes with a text that is stored in English, and the filters that translate one.
STORED = re.compile(r"(?P<what>[\w.]+\.(?:told|message|reason))\b(?P<filters>.*)")
TRANSLATING = ("|translated", "|call_message", "|call_reason", "|problem_label")
# What a person wrote, and what is translated as it is made.
OWN_WORDS = frozenset(
    [
        "form.data.message",
        "form.message",
        "lesson.message",
        "one.message",
        "proposal.reason",
        "selection.reason",
        "turn.message",
    ]
)
# A literal argument of a tag that looks like a sentence: a capital first, or two words.
LITERAL = re.compile(r"""(?<!_\()=(["'])((?:(?!\1).)*)\1""")
SENTENCE = re.compile(r"^[A-Z][a-z]|[a-z]{2,} [a-z]{2,}")


@dataclass(frozen=True)
class Finding:
    """Text outside translation."""

    template: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.template}:{self.line}: {self.text}"


def untranslated(template: Path) -> list[Finding]:
    """Return the texts of a template that are outside translation."""
    source = template.read_text()
    reader = _Reader()
    reader.feed(_without_tags(source))
    found = [*reader.found, *_literal_arguments(source), *_stored_texts(source)]
    return [Finding(template, line, text) for line, text in sorted(found)]


def _without_tags(source: str) -> str:
    """Blank out Django's tags and translated blocks, keeping the line numbers."""
    pieces = []
    block: str | None = None
    for token in Lexer(source).tokenize():
        name = token.contents.split()[0] if token.token_type is TokenType.BLOCK else ""
        if block is None and token.token_type is TokenType.TEXT:
            pieces.append(token.contents)
            continue
        if block is None and name in {"blocktranslate", "blocktrans", "comment", "verbatim"}:
            block = f"end{name}"
        elif name == block:
            block = None
        pieces.append("\n" * token.contents.count("\n") + "\u2060")
    return "".join(pieces)


def _stored_texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield variables with a stored text that no filter translates."""
    for token in Lexer(source).tokenize():
        if token.token_type is not TokenType.VAR or not (known := STORED.match(token.contents)):
            continue
        if known["what"] not in OWN_WORDS and not known["filters"].startswith(TRANSLATING):
            yield token.lineno or 0, token.contents


def _literal_arguments(source: str) -> Iterator[tuple[int, str]]:
    for token in Lexer(source).tokenize():
        if token.token_type is not TokenType.BLOCK:
            continue
        if token.contents.split()[0] not in {"include", "component", "with"}:
            continue
        for match in LITERAL.finditer(token.contents):
            if SENTENCE.search(NAMES.sub("", match[2])):
                yield token.lineno or 0, match[2]


class _Reader(HTMLParser):
    """Collects what a person reads: text, and some attributes."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[int, str]] = []
        self._open: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        silent = tag in CODE or ("translate", "no") in attrs or self._silent()
        if tag not in VOID:
            self._open.append((tag, silent))
        if not silent:
            for name, value in attrs:
                button = tag in {"input", "button"} and name == "value" and tag == "input"
                if name in READ or (button and dict(attrs).get("type") in {"submit", "button"}):
                    self._note(value or "")

    def handle_endtag(self, tag: str) -> None:
        for place in range(len(self._open) - 1, -1, -1):
            if self._open[place][0] == tag:
                del self._open[place:]
                return

    def handle_data(self, data: str) -> None:
        if not self._silent():
            self._note(data)

    def _silent(self) -> bool:
        return bool(self._open) and self._open[-1][1]

    def _note(self, text: str) -> None:
        if SPOKEN.search(NAMES.sub("", text)):
            self.found.append((self.getpos()[0], " ".join(text.split())))


def templates(folder: str = "") -> list[Path]:
    """Return all templates, or those of a folder of `templates/`."""
    return sorted((TEMPLATES / folder).rglob("*.html"))


if __name__ == "__main__":
    all_found = [
        finding
        for folder in sys.argv[1:] or [""]
        for template in templates(folder)
        for finding in untranslated(template)
    ]
    sys.stdout.writelines(f"{finding}\n" for finding in all_found)
    sys.exit(bool(all_found))
