"""Figures of "nothing fits" on the labelled messages in tests/ranking/nothing_fits.

    python -m tests.bench.nothing_fits ../shared/eval

Prints a table of docs/choosing.md, with the shipped model. Needs no database.
"""

import argparse
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from tests.ranking.fit_evidence import Verdict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="holds one folder for each labelled set")
    folder = parser.parse_args().folder
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
    django.setup()
    # Imported here: they read the settings.
    from catalog.embedding.onnx_embedder import OnnxEmbedder
    from catalog.embedding.shipped_model import prepare_model
    from marketplace.sources.kinds.starter_source import FOLDER
    from tests.ranking.fit_evidence import read_verdicts

    catalogues = {
        "starter": FOLDER / "labelled",
        **{n: folder / n for n in ("metatool", "toollinkos")},
    }
    found: list[Verdict] = []
    print("| messages | get no tool | lose their tool | tools sent |\n|---|--:|--:|--:|")  # noqa: T201 - its output
    with tempfile.TemporaryDirectory() as model:
        embedder = OnnxEmbedder(prepare_model(Path(model)))
        for name, each in catalogues.items():
            verdicts = read_verdicts(name, each / "catalog.jsonl", embedder)
            found += verdicts
            print(_line(name, [one for one in verdicts if one.part in ("dev", "test")]))  # noqa: T201
    for part in ("dev", "test", "holdout1", "holdout2"):
        print(_line(f"all, {part} part", [one for one in found if one.part == part]))  # noqa: T201
    print(_line("all, dev and test", [one for one in found if one.part in ("dev", "test")]))  # noqa: T201


def _line(name: str, verdicts: "list[Verdict]") -> str:
    without = [one for one in verdicts if not one.wanted]
    known = [one for one in verdicts if one.known]
    rejected = sum(not one.fits for one in without)
    lost = sum(not one.fits for one in known)
    sent = sum(one.sent for one in known) / len(known)
    return (
        f"| {name} | {rejected} of {len(without)} ({100 * rejected / len(without):.0f} %) "
        f"| {lost} of {len(known)} ({100 * lost / len(known):.1f} %) | {sent:.1f} |"
    )


if __name__ == "__main__":
    main()
