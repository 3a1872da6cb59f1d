"""SKILL.md: YAML front matter, then instructions in Markdown."""

import re

from catalog.formats.declared import build_declared
from catalog.formats.descriptors import JSONObject, Loaded
from catalog.formats.entry import Document, Entry
from catalog.formats.files import RefusedError, parse_yaml
from catalog.formats.text_cleanup import clean_text

FILE_NAME = "SKILL.md"
SUFFIX = ".md"
_FRONT_MATTER = re.compile(r"\s*---[ \t]*\n(.*?)(?:\n|(?<=\n))---[ \t]*(?:\n|\Z)", re.DOTALL)
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
        raise RefusedError("must start with YAML between two lines of ---", "front matter")
    try:
        entry = document.entry(parse_yaml(front_matter, limits=document.limits))
    except RefusedError as refused:
        raise RefusedError(refused.reason, "front matter") from refused
    name = entry.name("name", required=True)
    entry.text("description", required=True)
    declared = build_declared(
        entry,
        kind="skill",
        name=name,
        integration=document.integration,
        side_effect="read",
        content=skill_content(entry, body),
        annotations=_read_annotations(entry),
        source_ref={"format": FILE_NAME, "file": document.file, "name": name},
    )
    return Loaded((declared.integration,), (declared.capability,))


def split_front_matter(text: str) -> tuple[str | None, str]:
    """Split a file into its YAML front matter (or None) and the Markdown after it."""
    unix = text.replace("\r\n", "\n")
    match = _FRONT_MATTER.match(unix)
    return (match.group(1), unix[match.end() :]) if match else (None, unix)


def skill_content(entry: Entry, body: str) -> str:
    """Clean the instructions and cut them to the limit."""
    cleaned, hidden = clean_text(body)
    entry.count_hidden("content", hidden)
    return entry.cut("content", cleaned.strip(), entry.document.limits.content)


def _read_annotations(entry: Entry) -> JSONObject:
    return {key: entry.value(key) for key in _ANNOTATION_KEYS if entry.raw(key) is not None}
