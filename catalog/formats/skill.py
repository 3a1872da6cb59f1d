"""SKILL.md: YAML front matter, then instructions in Markdown, as other loaders take them.

Front matter that is no YAML is read field by field; a name that is missing is that of the folder.
A `.skill` is a zip archive of the folder.
"""

import json
import re
import tomllib
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from catalog.formats.archive_members import ArchiveFile, read_members
from catalog.formats.declared import build_declared
from catalog.formats.descriptors import Loaded
from catalog.formats.entry import Document, Entry
from catalog.formats.files import RefusedError, decode, parse_yaml
from catalog.formats.text_cleanup import clean_text

FILE_NAME = "SKILL.md"
SUFFIX, ARCHIVE_SUFFIX = ".md", ".skill"
# A comment for a linter may stand before it, and `...` ends a document of YAML, too.
_START = r"\s*+(?:<!--(?:(?!-->).)*+-->\s*+)?+---[ \t]*\n"
_FRONT_MATTER = re.compile(rf"{_START}(.*?)(?:\n|(?<=\n))(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
# TOML between lines of plus signs, and front matter in a fence or between longer lines.
_TOML = re.compile(r"\s*+\+\+\+[ \t]*+\n(.*?)\n\+\+\+[ \t]*+(?:\n|\Z)", re.DOTALL)
_FENCED = re.compile(
    r"\s*+(?:(?P<fence>```|~~~)ya?ml[ \t]*+\n(?:---[ \t]*+\n)?|-{4,20}[ \t]*+\n)"
    r"(?P<text>[A-Za-z_].*?)\n(?:---[ \t]*+\n)?(?(fence)(?P=fence)|-{4,20})[ \t]*+(?:\n|\Z)",
    re.DOTALL,
)
# Without an end, it goes on to the first line that is no field.
_OPEN = re.compile(
    rf"{_START}((?:[A-Za-z_][\w-]{{0,60}}:[^\n]*+\n(?:[ \t]++[^\n]*+\n)*+)++)", re.DOTALL
)
# A field at the beginning of a line, with all lines until the next one.
_FIELD = re.compile(
    r"^([A-Za-z_][\w -]{0,60}?)[ \t]*:(.*(?:\n(?![A-Za-z_][\w -]{0,60}?[ \t]*:).*)*)", re.MULTILINE
)
# Keys under which the front matter of an agent configures its servers.
_SERVERS = frozenset({"mcpServers", "mcp-servers", "mcp_servers", "servers", "mcp"})
_LONGEST_DESCRIPTION = 300
_ANNOTATION_KEYS = (
    "allowedTools",
    "compatibility",
    "metadata",
    "disableModelInvocation",
    "userInvocable",
    "model",
)


def read(document: Document) -> Loaded:
    """Read the skill in a SKILL.md, given as the document's value."""
    front_matter, body = split_front_matter(document.value)
    if front_matter is None:
        if not is_skill_file(document.file.rpartition("/")[2]) or body.startswith("---"):
            raise RefusedError("must start with YAML between two lines of ---", "front matter")
        document.report("front matter", "is missing; the folder and the first lines stand for it")
    elif _OPEN.match(text := document.value.replace("\r\n", "\n")) and not _FRONT_MATTER.match(
        text
    ):
        document.report("front matter", "has no end; the fields at its beginning are read")
    entry = document.entry(read_front_matter(document, front_matter or ""))
    name = entry.name("name")
    if not name:
        name = document.stem
        document.report("name", f"is missing; the folder names the skill: {name}")
    if not entry.text("description"):
        described = first_paragraph(body)
        if not described:
            raise RefusedError("is required", "description")
        document.report("description", "is missing; the first lines of the text stand for it")
        values = {key: value for key, value in entry.items() if key != "description"}
        entry = document.entry({**values, "description": described})
    declared = build_declared(
        entry,
        kind="skill",
        name=name,
        integration=document.integration,
        side_effect="read",
        content=skill_content(entry, body),
        annotations={
            key: entry.value(key) for key in _ANNOTATION_KEYS if entry.raw(key) is not None
        },
        source_ref={"format": FILE_NAME, "file": document.file, "name": name},
    )
    return Loaded((declared.integration,), (declared.capability,))


def read_archive(document: Document, body: bytes) -> Loaded:
    """Read the skills in a `.skill` archive; its folder there, or the archive, names each."""
    skills = Loaded()
    for member in read_members(body):
        if isinstance(member, ArchiveFile) and is_skill_file(PurePosixPath(member.path).name):
            folder = PurePosixPath(member.path).parent.name
            inner = replace(
                document,
                file=f"{document.file}/{folder or document.stem}/{FILE_NAME}",
                value=decode(member.content),
                folder=None,
            )
            skill = read(inner)
            skills = Loaded(
                (*skills.integrations, *skill.integrations),
                (*skills.capabilities, *skill.capabilities),
            )
    if not skills.capabilities:
        raise RefusedError(f"contains no {FILE_NAME}")
    return skills


def split_front_matter(text: str) -> tuple[str | None, str]:
    """Split a file into its YAML front matter (or None) and the Markdown after it."""
    unix = text.replace("\r\n", "\n")
    if toml := _TOML.match(unix):
        try:
            fields = tomllib.loads(toml.group(1))
            return json.dumps(fields, default=str), unix[toml.end() :]
        except (tomllib.TOMLDecodeError, RecursionError):
            return None, unix
    if fenced := _FENCED.match(unix):
        return fenced["text"], unix[fenced.end() :]
    match = _FRONT_MATTER.match(unix) or _OPEN.match(unix)
    return (match.group(1), unix[match.end() :]) if match else (None, unix)


def is_skill_text(text: str) -> bool:
    """Return True for instructions below front matter that describes them and names no server."""
    front_matter, body = split_front_matter(text)
    fields = dict(_FIELD.findall(f"{front_matter}\n")) if front_matter and body.strip() else {}
    return "description" in fields and not _SERVERS.intersection(fields)


def is_skill_file(name: str) -> bool:
    """Return True for the file that makes a folder a skill, in any case of its letters."""
    return name.lower() == FILE_NAME.lower()


def read_front_matter(document: Document, text: str) -> Any:
    """Return the fields of front matter; those that are no YAML are texts, and reported."""
    try:
        value = parse_yaml(text, limits=document.limits) if text.strip() else {}
        if isinstance(value, dict):
            return value
        raise RefusedError("must be a mapping", "front matter")
    except RefusedError as refused:
        is_long = len(text.encode("utf-8", "surrogatepass")) > document.limits.manifest
        if is_long or not _FIELD.search(text):
            raise RefusedError(refused.reason, "front matter") from refused
    fields: dict[str, Any] = {}
    for key, block in _FIELD.findall(f"{text}\n"):
        try:
            value = parse_yaml(f"{key}:{block}", limits=document.limits)[key]
        except (RefusedError, KeyError, TypeError):
            document.report(key, "is not valid YAML, and is read as text")
            value = " ".join(block.split()).strip("\"'|> ")
        fields.setdefault(key, value)
    return fields


def first_paragraph(body: str) -> str:
    """Return the first lines of a text that are no heading, as a description."""
    for part in re.split(r"\n[ \t]*\n", body.strip()[:20_000]):
        lines = [line.strip() for line in part.splitlines() if not line.lstrip().startswith("#")]
        if words := " ".join(filter(None, lines)):
            return words[:_LONGEST_DESCRIPTION]
    return ""


def skill_content(entry: Entry, body: str) -> str:
    """Clean the instructions and cut them to the limit."""
    cleaned, hidden = clean_text(body)
    entry.count_hidden("content", hidden)
    return entry.cut("content", cleaned.strip(), entry.document.limits.content)
