"""Figures of "nothing fits" on the labelled messages in tests/ranking/nothing_fits.

    python -m lab.bench.nothing_fits ../shared/eval

Prints tables of lab/choosing.md, with the shipped model. Needs no database. The second table says
what no threshold changes: how often a message with a tool is ahead of one without, by the margin
over the background and by the best tool's cosine alone.
"""

import argparse
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import django
import numpy as np

if TYPE_CHECKING:
    from tests.ranking.fit_evidence import Verdict

PARTS = ("dev", "test", "holdout1", "holdout2", "holdout3", "holdout4")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="holds one folder for each labelled set")
    folder = parser.parse_args().folder
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
    django.setup()
    found = _read(folder)
    lines = ["| messages | get no tool | lose their tool | tools sent |", "|---|--:|--:|--:|"]
    for name, verdicts in found.items():
        lines.append(_line(name, [one for one in verdicts if one.part in ("dev", "test")]))
    everything = [one for verdicts in found.values() for one in verdicts]
    lines += [_line(f"all, {part} part", _of(everything, part)) for part in PARTS]
    lines.append(_line("all, dev and test", _of(everything, "dev", "test")))
    lines.append(_line("all, hold-outs", _of(everything, *PARTS[2:])))
    lines += ["", "| messages | by margin | by cosine |", "|---|--:|--:|"]
    for parts in (PARTS[:2], PARTS[2:4], PARTS[4:5], PARTS[5:]):
        some = _of(everything, *parts)
        lines.append(f"| {', '.join(parts)} | {_area(some, _margin)} | {_area(some, _cosine)} |")
    print("\n".join(lines))


def _read(folder: Path) -> "dict[str, list[Verdict]]":
    # Imported here: they read the settings.
    from catalog.embedding.onnx_embedder import OnnxEmbedder
    from catalog.embedding.shipped_model import prepare_model
    from marketplace.offers.kinds.starter import FOLDER
    from tests.ranking.fit_evidence import read_verdicts

    catalogues = {
        "starter": FOLDER / "labelled",
        **{n: folder / n for n in ("metatool", "toollinkos")},
    }
    with tempfile.TemporaryDirectory() as model:
        embedder = OnnxEmbedder(prepare_model(Path(model)))
        return {
            name: read_verdicts(name, each / "catalog.jsonl", embedder)
            for name, each in catalogues.items()
        }


def _of(verdicts: "Sequence[Verdict]", *parts: str) -> "list[Verdict]":
    return [one for one in verdicts if one.part in parts]


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


def _area(verdicts: "list[Verdict]", value: "Callable[[Verdict], float]") -> str:
    """Return the area under the curve, in per cent."""
    known = np.array([value(one) for one in verdicts if one.known])
    without = np.array([value(one) for one in verdicts if not one.wanted])
    return f"{100 * float((known[:, None] > without[None]).mean()):.0f} %"


def _margin(verdict: "Verdict") -> float:
    return verdict.margin


def _cosine(verdict: "Verdict") -> float:
    return verdict.cosine


if __name__ == "__main__":
    main()
