"""SKILL.md: front matter in YAML, then instructions in Markdown."""

import re

from catalog.formats.declared import declared
from catalog.formats.descriptors import JSONObject, Loaded
from catalog.formats.entry import Document, Entry
from catalog.formats.files import RefusedError, parse_yaml
from catalog.formats.text_cleanup import clean_text

FILE_NAME = "SKILL.md"
SUFFIX = ".md"
_FRONT_MATTER = re.compile(r"\s*---[ \t]*\n(.*?)(?:\n|(?<=\n))---[ \t]*(?:\n|\Z)", re.DOTALL)
_KEPT = (
    "allowedTools",
    "compatibility",
    "metadata",
    "disableModelInvocation",
    "userInvocable",
    "model",
)


def read(document: Document) -> Loaded:
    """The skill in a SKILL.md, whose text is the document's value."""
    front_matter, body = split_front_matter(document.value)
    if front_matter is None:
        raise RefusedError("must begin with YAML between two lines of ---", "front matter")
    try:
        entry = document.entry(parse_yaml(front_matter, limits=document.limits))
    except RefusedError as refused:
        raise RefusedError(refused.reason, "front matter") from refused
    name = entry.name("name", required=True)
    entry.text("description", required=True)
    one = declared(
        entry,
        kind="skill",
        name=name,
        integration=document.integration,
        side_effect="read",
        content=skill_content(entry, body),
        annotations=_kept(entry),
        source_ref={"format": FILE_NAME, "file": document.file, "name": name},
    )
    return Loaded((one.integration,), (one.capability,))


def split_front_matter(text: str) -> tuple[str | None, str]:
    """The YAML between the first two `---` lines, if there is any, and the Markdown after them."""
    unix = text.replace("\r\n", "\n")
    match = _FRONT_MATTER.match(unix)
    return (match.group(1), unix[match.end() :]) if match else (None, unix)


def skill_content(entry: Entry, body: str) -> str:
    """The instructions, cleaned and cut to what a skill may hold."""
    cleaned, hidden = clean_text(body)
    entry.count_hidden("content", hidden)
    return entry.cut("content", cleaned.strip(), entry.document.limits.content)


def _kept(entry: Entry) -> JSONObject:
    return {key: entry.value(key) for key in _KEPT if entry.raw(key) is not None}
