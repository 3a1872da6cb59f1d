"""CAPABILITY.yaml: one capability per folder, with optional SKILL.md and schema.json."""

from pathlib import Path
from typing import Any, get_args

from catalog.formats._side_effects import side_effect_declared
from catalog.formats.categories import COMMUNICATION
from catalog.formats.declared import DeclaredCapability, build_declared
from catalog.formats.descriptors import EdgeDescriptor, IntegrationKind, JSONObject, Kind, Loaded
from catalog.formats.entry import Document, Entry
from catalog.formats.files import RefusedError, parse_json, read_text, resolve_types
from catalog.formats.skill import FILE_NAME as SKILL_FILE
from catalog.formats.skill import skill_content, split_front_matter
from catalog.formats.usable_schema import check_schema

OF_SERVERS = False
IS_LOOSE = False

FILE_NAMES = ("CAPABILITY.yaml", "CAPABILITY.yml")
SCHEMA_FILE = "schema.json"
KINDS: tuple[Kind, ...] = get_args(Kind)


def recognises(value: Any) -> bool:
    """Return True for a mapping with a name and a known `kind`."""
    return isinstance(value, dict) and "name" in value and value.get("kind") in KINDS


def read(document: Document) -> Loaded:
    """Read the capability of one manifest."""
    entry = document.entry(document.value)
    declared = read_manifest(entry, integration=document.integration, integration_kind="manifest")
    return Loaded((declared.integration,), (declared.capability,))


def read_manifest(
    entry: Entry, *, integration: str | None = None, integration_kind: IntegrationKind | None = None
) -> DeclaredCapability:
    """Read a manifest mapping; its files are looked up in the document's folder."""
    name = entry.name("name", required=True)
    value: Any = entry.name("kind", required=True)
    if value not in KINDS:
        raise RefusedError(f"must be one of {', '.join(KINDS)}", entry.place("kind"))
    kind: Kind = value
    entry.text("description", required=True)
    flag = entry.flag("hasSideEffects")
    edges: list[EdgeDescriptor] = []
    for edge in entry.mappings("edges"):
        try:
            edges.append(_edge(edge))
        except RefusedError as refused:
            entry.document.report(refused.field, refused.reason)
    return build_declared(
        entry,
        kind=kind,
        name=name,
        integration=integration,
        integration_kind=integration_kind,
        category=COMMUNICATION if kind == "channel" else None,
        side_effect=side_effect_declared(
            name,
            flag,
            otherwise="write" if kind in ("tool", "emergent-tool", "channel") else "read",
        ),
        side_effect_inferred=flag is None and kind in ("tool", "emergent-tool"),
        content=_content(entry),
        input_schema=_schema_file(entry),
        edges=tuple(edges),
        source_ref={"format": "manifest", "file": entry.document.file, "name": name},
    )


def _content(entry: Entry) -> str:
    """Read the file named by skillContent, or the SKILL.md next to the manifest."""
    folder = entry.document.folder
    path = entry.name("skillContent")
    if folder is None or not (path or (folder / SKILL_FILE).exists()):
        return skill_content(
            entry, entry.raw("content") if isinstance(entry.raw("content"), str) else ""
        )
    try:
        text = _read_sibling(entry, folder, path or SKILL_FILE)
    except RefusedError as refused:
        entry.report("skillContent", refused.reason)
        return ""
    _, body = split_front_matter(text)
    return skill_content(entry, body)


def _schema_file(entry: Entry) -> JSONObject | None:
    """Read the schema.json next to a manifest without a schema of its own."""
    folder = entry.document.folder
    if folder is None or not (folder / SCHEMA_FILE).exists():
        return None
    if entry.raw("inputSchema", "schema") is not None:
        return None
    try:
        text = _read_sibling(entry, folder, SCHEMA_FILE)
        schema = entry.cleaned(
            parse_json(text, max_depth=entry.document.limits.json_depth), SCHEMA_FILE
        )
        return check_schema(entry, schema, SCHEMA_FILE)
    except RefusedError as refused:
        raise RefusedError(refused.reason, SCHEMA_FILE) from refused


def _read_sibling(entry: Entry, folder: Path, path: str) -> str:
    if Path(path).is_absolute() or ".." in Path(path).parts or "\\" in path:
        raise RefusedError("leads out of the manifest's folder")
    return read_text(folder / path, folder, limit=entry.document.limits.file)


def _edge(edge: Entry) -> EdgeDescriptor:
    weight = edge.number("weight") if resolve_types(edge.raw("weight")) is not None else 1.0
    if weight is None or not 0 <= weight <= 1:
        raise RefusedError("must be a number from 0 to 1", edge.place("weight"))
    kind = edge.name("type", required=True).upper().replace("-", "_").replace(" ", "_")
    return EdgeDescriptor(target=edge.name("target", required=True), type=kind, weight=weight)
