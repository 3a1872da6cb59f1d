"""Writes the labelled set's catalogue from the collection: `python -m tests.starter.labelled`."""

import json

from catalog.formats.descriptors import Descriptor
from marketplace.offers.kinds.starter import FOLDER, starter_collection

CATALOG = FOLDER / "labelled" / "catalog.jsonl"
QUERIES = FOLDER / "labelled" / "queries.jsonl"


def catalog_text() -> str:
    """Return the collection in the format of labelled sets: one capability a line."""
    return "".join(
        json.dumps(_line(capability), ensure_ascii=False) + "\n"
        for capability in starter_collection().capabilities
    )


def _line(capability: Descriptor) -> dict[str, object]:
    line: dict[str, object] = {
        "id": capability.identifier,
        "name": capability.action,
        "server": capability.integration,
        "description": capability.description,
        "input_schema": capability.input_schema,
        "category": capability.category,
        "tags": list(capability.tags),
        "examples": list(capability.examples),
        "requiredTools": list(capability.required_tools),
        "title": capability.display_name,
        "kind": capability.kind,
    }
    return line | {mark: True for mark in ("core", "pinned") if getattr(capability, mark)}


if __name__ == "__main__":
    CATALOG.write_text(catalog_text(), encoding="utf-8")
