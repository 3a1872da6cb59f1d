"""Quality on the installation for tests, per language: `python -m lab.installation`.

The starter collection beside the servers of the samples (`../shared/samples`), and 438 messages of
our own writing with the tools that are right for them. Some need no tool that is there: small talk,
knowledge, and wishes that nothing serves. Needs the database that `DATABASE_URL` names; loads into
temporary tables. With `--misses`, it lists what went wrong.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from catalog.formats.descriptors import Descriptor

MESSAGES = Path(__file__).with_name("messages.jsonl")
STARTER = Path("marketplace/starter/labelled/catalog.jsonl")
SAMPLES = Path("../shared/samples")
SERVERS = ("docker-mcp-registry", "mcp-tools-list")


def main() -> None:
    """Write the set into a temporary folder, and evaluate it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")

    import django

    django.setup()
    from discovery.evaluation import Evaluation, evaluate

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_set(folder)
        report: Evaluation = evaluate(folder=folder, progress=lambda *_: None)
    print(f"{report.messages} messages over {report.capabilities} capabilities")
    print("| messages | recall@1 | recall@5 | sent: recall | length | left alone |")
    print("|---|--:|--:|--:|--:|--:|")
    for part in [key for key in report.ranking if key == "all" or key.startswith("in ")]:
        ranked, sent = report.ranking[part], report.selection[part]
        figures = [ranked["recall@1"], ranked["recall@5"], sent["recall"], sent["left alone"]]
        first, five, recall, alone = (f"{100 * figure:.0f}" for figure in figures)
        print(f"| {part} | {first} | {five} | {recall} | {sent['length']:.1f} | {alone} |")
    if options.misses:
        _print_misses(report.run)


def write_set(folder: Path) -> None:
    """Write the catalogue and the messages as a labelled set."""
    from catalog.formats.loader import load_path

    rows = [_row(item) for name in SERVERS for item in load_path(SAMPLES / name).capabilities]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "catalog.jsonl").write_text(STARTER.read_text("utf-8") + lines, "utf-8")
    (folder / "queries.jsonl").write_text(MESSAGES.read_text("utf-8"), "utf-8")


def _row(item: "Descriptor") -> dict[str, Any]:
    return {
        "id": item.full_name,
        "name": item.action,
        "server": item.integration,
        "description": item.description,
        "input_schema": item.input_schema,
        "category": item.category,
        "tags": list(item.tags),
    }


def _print_misses(run: dict[str, list[str]]) -> None:
    """Print each message whose right tools are not among the first five."""
    for line in MESSAGES.read_text("utf-8").splitlines():
        row = json.loads(line)
        right = {name for names in row["alternatives"].values() for name in names}
        right.update(row["relevant"])
        if right and right.isdisjoint(run[row["qid"]][:5]):
            print(f"{row['lang']}: {row['query']} → {', '.join(run[row['qid']][:5])}")


if __name__ == "__main__":
    main()
