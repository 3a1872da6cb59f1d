"""catalog.jsonl: one tool per line, from many servers; `id` becomes the declared identifier."""

from collections.abc import Iterable
from typing import Any

from catalog.formats._side_effects import side_effect_declared
from catalog.formats.descriptors import Descriptor, IntegrationDescriptor, Loaded
from catalog.formats.entry import Document, Entry
from catalog.formats.files import RefusedError, decode, parse_json
from catalog.formats.names import display_name_for, slug_for
from catalog.formats.readers.tool import action_name, tool_descriptor

SUFFIX = ".jsonl"


def read(document: Document, lines: Iterable[tuple[int, bytes | None]]) -> Loaded:
    """Read every valid line as a tool and report the others by line number."""
    default_slug = document.integration or slug_for(document.stem)
    titles: dict[str, str] = {}
    capabilities: list[Descriptor] = []
    for number, line in lines:
        if number > document.limits.catalog_lines:
            document.report(
                f"line {number}", f"is past the limit of {document.limits.catalog_lines:,} lines"
            )
            break
        try:
            capability, title = _line(document, number, line, default_slug)
        except RefusedError as refused:
            document.report(refused.field, refused.reason)
            continue
        if capability is not None:
            titles.setdefault(capability.integration, title or display_name_for(default_slug))
            capabilities.append(capability)
    return Loaded(_integrations(document, titles), tuple(capabilities))


def _line(
    document: Document, number: int, line: bytes | None, default_slug: str
) -> tuple[Descriptor | None, str]:
    at = f"line {number}"
    if line is None:
        raise RefusedError(f"has more than {document.limits.catalog_line:,} bytes", at)
    if not line.strip():
        return None, ""
    try:
        value = parse_json(decode(line).strip(), max_depth=document.limits.json_depth)
    except RefusedError as refused:
        raise RefusedError(refused.reason, at) from refused
    return _tool(document.entry(value, at), default_slug)


def _tool(entry: Entry, default_slug: str) -> tuple[Descriptor, str]:
    server = entry.name("server")
    slug = slug_for(server) if server else default_slug
    action = action_name(entry)
    annotations = entry.mapping("annotations")
    flag: Any = entry.flag("hasSideEffects")
    is_declared = flag is not None
    if flag is None and annotations is not None and annotations.flag("readOnlyHint") is not None:
        flag = not annotations.flag("readOnlyHint")
    return tool_descriptor(
        entry,
        integration=slug,
        action=action,
        side_effect=side_effect_declared(action, flag),
        side_effect_inferred=not is_declared,
        category=entry.name("category"),
        tags=entry.tags("tags"),
        display_name=entry.name("title", "displayName"),
        source_ref={"format": "catalog.jsonl", "file": entry.document.file, "tool": action},
        declared_id=entry.name("id"),
    ), server


def _integrations(document: Document, titles: dict[str, str]) -> tuple[IntegrationDescriptor, ...]:
    # The source of an integration, or {} if its name came from the importing admin.
    return tuple(
        IntegrationDescriptor(
            slug=slug,
            kind="catalog",
            title=titles[slug],
            source_ref={}
            if slug == document.integration
            else {"format": "catalog.jsonl", "file": document.file, "server": (titles[slug])},
        )
        for slug in sorted(titles)
    )
