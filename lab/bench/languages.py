"""Recall of the same messages in English and other languages, with and without the multilingual
model.

    python -m lab.bench.languages
    python -m lab.bench.languages ../shared/eval/seal-tools

Prints recall@1 and recall@5 over the starter collection, as the selector ranks. With a labelled
set's folder its tools compete, too. Needs no database.
"""

import argparse
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import django
import numpy as np

if TYPE_CHECKING:
    from catalog.embedding.embedder import Embedder
    from catalog.formats.descriptors import Descriptor

Recalls = dict[str, tuple[float, float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="a labelled set")
    folder = parser.parse_args().folder
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
    django.setup()
    # Imported here: they read the settings.
    from django.test import override_settings

    from catalog.embedding.multilingual_model import prepare_multilingual
    from catalog.embedding.onnx_embedder import OnnxEmbedder
    from catalog.embedding.shipped_model import prepare_model
    from catalog.formats.loader import load_path
    from marketplace.offers.kinds.starter import FOLDER
    from tests.ranking.languages import LANGUAGES

    catalogues = [FOLDER / "labelled", *([folder] if folder else [])]
    tools = [one for each in catalogues for one in load_path(each / "catalog.jsonl").capabilities]
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        embedder = OnnxEmbedder(prepare_model(root))
        prepare_multilingual(root)
        for multilingual in (False, True):
            with override_settings(PEGBOARD_MODEL_DIR=root, PEGBOARD_MULTILINGUAL=multilingual):
                rows = measure_languages(tools, embedder, ("en", *LANGUAGES))
            way = "multilingual model" if multilingual else "English model and glossary"
            print("\n".join(_lines(way, rows)))


def measure_languages(
    tools: "Sequence[Descriptor]", embedder: "Embedder", languages: Sequence[str]
) -> Recalls:
    """Return recall@1 and recall@5 in per cent, by language."""
    from catalog.embedding.texts import MOST_EXAMPLES
    from discovery.select.ranking.fusion import scale_of
    from lab.training._evidence import LabelledRequest, by_fusion, find_evidence
    from tests.ranking.languages import read_messages

    asked = [
        LabelledRequest(message, [right])
        for each in languages
        for message, right in read_messages(each)
    ]
    scale = scale_of(embedder.name)
    ranks = []
    for question in find_evidence(tools, asked, embedder, readings=2 + MOST_EXAMPLES):
        order = np.argsort(-by_fusion(question, scale), kind="stable")
        found = np.flatnonzero(question.right[order])
        ranks.append(found[0] if len(found) else len(order))
    rows = np.array(ranks).reshape(len(languages), -1)
    cells = np.stack([rows < 1, rows < 5], axis=-1).mean(axis=1) * 100
    return {each: (float(a), float(b)) for each, (a, b) in zip(languages, cells, strict=True)}


def _lines(way: str, rows: Recalls) -> Iterator[str]:
    yield f"| {way} | {' | '.join(rows)} |"
    yield f"|---|{'--:|' * len(rows)}"
    for place, name in enumerate(("recall@1", "recall@5")):
        yield f"| {name} | {' | '.join(f'{row[place]:.0f}' for row in rows.values())} |"


if __name__ == "__main__":
    main()
