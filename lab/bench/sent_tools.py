"""Recall of the labelled sets' right tools, ranked and sent by `select`, and the tools it sends.

    python -m lab.bench.sent_tools ../shared/eval

Prints a table of lab/choosing.md: recall@5, recall of what is sent and its change against the cut
at 0.2 of the best score, and the share of that cut's tools. With the shipped model, by its own and
by the general weighing. The last column takes the messages of all sets together. Needs no database.
Messages are read as `select` does, with earlier messages and in other languages, and an alternative
counts as the right tool. Relations, past use and places for core tools are left out.
"""

import argparse
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import django
import numpy as np

if TYPE_CHECKING:
    from catalog.embedding.embedder import Embedder, Vectors
    from discovery.evaluation import Labelled
    from discovery.select.ranking.fusion import Scale
    from lab.training._evidence import LabelledQuestion

SETS = ("metatool", "bfcl-pooled", "toollinkos", "seal-tools")
OLD_CUT = 0.2


class Message(NamedTuple):
    """A labelled message, its candidates, their identifiers, and how near the background is."""

    labelled: "Labelled"
    question: "LabelledQuestion"
    identifiers: Sequence[str]
    near: Sequence[float]


class Sent(NamedTuple):
    """Share of the right tools among the first five, and among the sent, and the number of these.

    The last two are those of the older cut.
    """

    first: float
    right: float
    number: float
    right_before: float
    number_before: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="holds one folder for each labelled set")
    folder = parser.parse_args().folder
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
    django.setup()
    # Imported here: they read the settings.
    from django.test import override_settings

    from catalog.embedding.multilingual_model import prepare_multilingual
    from catalog.embedding.onnx_embedder import OnnxEmbedder
    from catalog.embedding.shipped_model import prepare_model
    from discovery.select.example_texts import embed_examples, read_abilities
    from discovery.select.ranking.fusion import GENERAL, scale_of
    from marketplace.offers.kinds.starter import FOLDER

    with tempfile.TemporaryDirectory() as model:
        root = Path(model)
        embedder = OnnxEmbedder(prepare_model(root))
        prepare_multilingual(root)
        abilities = embed_examples(read_abilities(), embedder)
        own = scale_of(embedder.name)
        places = {"starter": FOLDER / "labelled", **{name: folder / name for name in SETS}}
        with override_settings(PEGBOARD_MODEL_DIR=root):
            asked = {name: read_set(each, embedder, abilities) for name, each in places.items()}
    general = {part: getattr(GENERAL, part) for part in ("word_power", "evenness", "whole")}
    weighings = {
        "shipped": own,
        "general weighing, same share": own._replace(**general),
        "general weighing, shares 0.15 and 1.15": own._replace(
            **general, share_of_odds=0.15, share_growth=1.15
        ),
    }
    print("\n".join(_table(weighings, asked)))


def read_set(folder: Path, embedder: "Embedder", abilities: "Vectors") -> list[Message]:
    """Return the messages with a right tool, and their candidates."""
    from catalog.embedding.multilingual_embedder import embed_documents
    from catalog.embedding.texts import embedding_text
    from catalog.formats.loader import load_path
    from discovery.evaluation import read_queries
    from discovery.select.example_texts import nearest_of
    from discovery.select.message import read
    from lab.training._evidence import LabelledRequest, embed_reading, find_evidence

    capabilities = load_path(folder / "catalog.jsonl").capabilities
    rows = [one for one in read_queries(folder) if one.relevant]
    asked = [LabelledRequest(one.query, one.relevant, one.history) for one in rows]
    vectors = embed_documents(embedder, [embedding_text(each) for each in capabilities])
    messages = []
    questions = find_evidence(capabilities, asked, embedder, vectors=vectors)
    for row, question in zip(rows, questions, strict=True):
        near = nearest_of(abilities, embed_reading(read(row.query, row.history), embedder))
        likeness = (vectors[question.places] @ near.vectors.T).max(axis=0).tolist()
        identifiers = [capabilities[place].identifier for place in question.places]
        messages.append(Message(row, question, identifiers, near.nearness(likeness)))
    return messages


def _table(
    weighings: "dict[str, Scale]",
    asked: dict[str, list[Message]],
) -> Iterator[str]:
    yield f"| weighing | {' | '.join(asked)} | all messages |"
    yield f"|---|{'--:|' * (len(asked) + 1)}"
    for name, scale in weighings.items():
        rows = [[sent_with(one, scale) for one in some] for some in asked.values()]
        cells = [*map(_cell, rows), _cell([one for some in rows for one in some])]
        yield f"| {name} | {' | '.join(cells)} |"


def sent_with(message: Message, scale: "Scale") -> Sent:
    """Return what a scale sends for a message."""
    from catalog import lexical
    from discovery.select.message import read
    from discovery.select.ranking.fusion import judge
    from discovery.select.ranking.thresholds import (
        FLOOR,
        PlaceCandidate,
        choose,
        cut,
        is_enough,
        margin,
    )

    labelled, question, identifiers, near = message
    judged = judge(question.evidence, question.features, scale)
    candidates = [
        PlaceCandidate(key, row.score, row.clause_scores) for key, row in enumerate(judged)
    ]
    scores = [row.score for row in judged]
    words = len(lexical.query_vector(read(labelled.query, labelled.history).texts[0]))
    fits = is_enough(margin(question.cosines.tolist(), near), least=scale.limit(words))
    clauses = len(near) - 1
    share, growth = scale.share(clauses), scale.growth(clauses)
    least = cut(scores, "fits" if fits else "nothing_fits", share=share, growth=growth)
    before = max(FLOOR, OLD_CUT * max(scores))
    best = np.argsort(-np.array(scores), kind="stable")[:5]
    counts = [_share(labelled, [identifiers[place] for place in best])]
    for threshold in (least, before):
        # A clause's best has a place whatever the threshold, but not if nothing fits.
        chosen = choose(candidates, max_tools=10, threshold=threshold) if threshold <= 1 else []
        right = _share(labelled, [identifiers[place.candidate.key] for place in chosen])
        counts += [right, len(chosen)]
    return Sent(*counts)


def _share(labelled: "Labelled", identifiers: Sequence[str]) -> float:
    """Return the share of the right tools that are there, themselves or as an alternative."""
    return sum(labelled.gains(identifiers)) / len(labelled.relevant)


def _cell(rows: Sequence[Sent]) -> str:
    first, right, number, right_before, number_before = 100 * np.mean(rows, axis=0)
    share = 100 * number / number_before
    return f"{first:.1f} / {right:.1f} ({right - right_before:+.1f}) / {share:.1f} %"


if __name__ == "__main__":
    main()
