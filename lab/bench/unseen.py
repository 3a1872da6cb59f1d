"""Weighings on messages that the shipped model has not learned from, and on its training sets.

    python -m lab.bench.unseen ../shared

Prints recall@5, NDCG@10 and complete@10 by the shipped weighing, the same without servers, an
earlier one, and the general one. Needs no database. Of the training sets every fifth message is
read.
"""

import argparse
import os
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from catalog.embedding.embedder import Embedder
    from catalog.formats.descriptors import Descriptor
    from discovery.select.ranking.fusion import Scale
    from lab.training._evidence import LabelledQuestion, LabelledRequest

LEARNED = ("metatool", "bfcl-pooled", "toollinkos", "seal-tools")
EVERY = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shared", type=Path, help="holds eval and samples")
    shared = parser.parse_args().shared
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
    django.setup()
    # Imported here: they read the settings.
    from django.test import override_settings

    from catalog.embedding.multilingual_model import prepare_multilingual
    from catalog.embedding.onnx_embedder import OnnxEmbedder
    from catalog.embedding.shipped_model import prepare_model
    from discovery.select.ranking.fusion import GENERAL, scale_of
    from lab.training._evidence import by_fusion, measure

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        embedder = OnnxEmbedder(prepare_model(root))
        prepare_multilingual(root)
        with override_settings(PEGBOARD_MODEL_DIR=root):
            asked = {name: list(_read(*each, embedder)) for name, each in _sets(shared).items()}
    own = scale_of(embedder.name)
    before = own._replace(
        word_weight=0.4, word_power=0.75, evenness=0.85, whole=1.0, server_share=0.0
    )
    weighings: dict[str, Scale] = {
        "shipped": own,
        "without servers": own._replace(server_share=0.0),
        "before": before,
        "general": GENERAL,
    }
    print(f"| weighing | {' | '.join(asked)} |")
    print(f"|---|{'--:|' * len(asked)}")
    for name, scale in weighings.items():
        cells = [measure(each, partial(by_fusion, scale=scale)) for each in asked.values()]
        shown = (" / ".join(f"{value:.1f}" for value in cell) for cell in cells)
        print(f"| {name} | {' | '.join(shown)} |")


def _read(
    tools: "Sequence[Descriptor]", asked: "Sequence[LabelledRequest]", embedder: "Embedder"
) -> "Iterator[LabelledQuestion]":
    from catalog.embedding.texts import MOST_EXAMPLES
    from lab.training._evidence import find_evidence

    wanted = [each for each in asked if each.relevant]
    return find_evidence(tools, wanted, embedder, readings=2 + MOST_EXAMPLES)


def _sets(shared: Path) -> "dict[str, tuple[Sequence[Descriptor], Sequence[LabelledRequest]]]":
    from catalog.formats.loader import load_path
    from discovery.evaluation import read_queries
    from lab.training._evidence import LabelledRequest
    from marketplace.offers.kinds.starter import FOLDER
    from tests.ranking.fit_evidence import MESSAGES
    from tests.ranking.languages import read_messages
    from tests.ranking.skills import read_skill_messages

    folders = {"starter": FOLDER / "labelled", **{each: shared / "eval" / each for each in LEARNED}}
    tools = {name: load_path(each / "catalog.jsonl").capabilities for name, each in folders.items()}
    skills = load_path(shared / "samples" / "agent-skills").capabilities
    sets: dict[str, tuple[Sequence[Descriptor], Sequence[LabelledRequest]]] = {
        "starter": (tools["starter"], _labelled(folders["starter"] / "queries.jsonl")),
        "English 40": (
            tools["starter"],
            [LabelledRequest(message, [right]) for message, right in read_messages("en")],
        ),
        "skills": (
            skills,
            [
                LabelledRequest(message, [one.identifier for one in skills if one.action == skill])
                for message, skill in read_skill_messages()
            ],
        ),
    }
    named = {one.action: one.identifier for one in skills}
    sets["skills, second author"] = (
        skills,
        [
            LabelledRequest(text, [named[skill]])
            for text, skill in read_skill_messages("second")
            if skill in named
        ],
    )
    for name in ("starter", "metatool", "toollinkos"):
        sets[f"new, {name}"] = (tools[name], _labelled(MESSAGES / f"{name}.jsonl"))
    for name in LEARNED:
        asked = [
            LabelledRequest(each.query, each.relevant)
            for each in islice(read_queries(folders[name]), 0, None, EVERY)
        ]
        sets[f"{name} (learned)"] = (tools[name], asked)
    return sets


def _labelled(path: Path) -> "list[LabelledRequest]":
    from acl.platform.strict_json import parse_json
    from discovery.evaluation import stored_id
    from lab.training._evidence import LabelledRequest

    rows = map(parse_json, path.read_text("utf-8").splitlines())
    return [
        LabelledRequest(row["query"], [stored_id(each) for each in row["relevant"]]) for row in rows
    ]


if __name__ == "__main__":
    main()
