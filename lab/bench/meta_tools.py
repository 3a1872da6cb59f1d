"""Token costs of the meta-tools: each definition, and the five with the index of categories.

    python -m lab.bench.meta_tools ../shared/eval/toucan-mcp-catalog/catalog.jsonl

Prints the tables of lab/meta-tools.md as Markdown. Needs no database: the index is that of a
caller who may use everything.
"""

import argparse
import os
import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

import django

from catalog.formats.descriptors import Descriptor


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("catalogues", type=Path, nargs="*", help="further catalogue files")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
    django.setup()
    _print_definitions()
    _print_indexes(options.catalogues)


def tell(text: str) -> None:
    """Print a message for the person who runs it."""
    sys.stdout.write(f"{text}\n")


def _print_definitions() -> None:
    from catalog.token_counter import estimate_tokens
    from discovery.metatools import EXPLORING, META_TOOLS

    tell("| meta-tool | tokens |\n|---|--:|")
    for tool in META_TOOLS.values():
        tell(f"| `{tool.name}` | {estimate_tokens(tool.as_tool())} |")
    together = sum(estimate_tokens(tool.as_tool()) for tool in EXPLORING)
    tell(f"| the first five together | {together} |\n")


def _print_indexes(catalogues: Iterable[Path]) -> None:
    from catalog.token_counter import estimate_tokens
    from discovery.metatools import EXPLORING
    from marketplace.offers.kinds.starter import starter_collection

    five = sum(estimate_tokens(tool.as_tool()) for tool in EXPLORING)
    tell("| catalogue | capabilities | categories | all definitions | index | five and index |")
    tell("|---|--:|--:|--:|--:|--:|")
    everything = {"starter collection": starter_collection().capabilities}
    everything |= {path.parent.name: _read(path) for path in catalogues}
    for name, capabilities in everything.items():
        index = _index(capabilities)
        written = sum(estimate_tokens(_definition(each)) for each in capabilities)
        cost = estimate_tokens(index)
        known = len(index["categories"]) + len(index.get("others", ()))
        figures = (len(capabilities), known, written, cost, five + cost)
        tell(f"| {name} | {' | '.join(f'{figure:,}' for figure in figures)} |")


def _read(path: Path) -> tuple[Descriptor, ...]:
    from catalog.formats.loader import load_path

    return load_path(path).capabilities


def _index(capabilities: Iterable[Descriptor]) -> dict[str, Any]:
    """Build the answer of `list_categories` with its own code."""
    from catalog.capabilities.catalog_queries import CategorySummary
    from discovery.mcp.answers._families import category_index

    named = sorted((each.category, each.full_name) for each in capabilities)
    groups = groupby(named, key=lambda pair: pair[0])
    return category_index(
        [CategorySummary(one, tuple(name for _, name in names)) for one, names in groups]
    )


def _definition(capability: Descriptor) -> dict[str, Any]:
    return {
        "name": capability.full_name,
        "description": capability.description,
        "input_schema": capability.input_schema,
    }


if __name__ == "__main__":
    main()
