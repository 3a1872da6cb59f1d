"""Recall of the labelled sets' right tools, ranked and sent by `select`, and the tools it sends.

    python -m tests.bench.sent_tools ../shared/eval

Prints a table of docs/choosing.md: recall@5, recall of what is sent and its change against the cut
at 0.2 of the best score, and the share of that cut's tools. With the shipped model, by its own and
by the general weighing. Needs no database. Relations, past use, earlier messages, alternatives and
places for core tools are left out, so the starter set's recall of what is sent is too low.
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
    from discovery.evaluation.training.evidence import Question
    from discovery.select.ranking.scales import Scale

SETS = ("metatool", "bfcl-pooled", "toollinkos", "seal-tools")
OLD_CUT = 0.2


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
    from catalog.embedding.onnx_embedder import OnnxEmbedder
    from catalog.embedding.shipped_model import prepare_model
    from discovery.select.common_abilities import read_abilities
    from discovery.select.ranking.scales import GENERAL, scale_of
    from marketplace.sources.kinds.starter_source import FOLDER

    with tempfile.TemporaryDirectory() as model:
        embedder = OnnxEmbedder(prepare_model(Path(model)))
        abilities = embedder.embed(read_abilities())
        own = scale_of(embedder.name)
        places = {"starter": FOLDER / "labelled", **{name: folder / name for name in SETS}}
        asked = {name: _read(each, embedder, abilities) for name, each in places.items()}
    general = {part: getattr(GENERAL, part) for part in ("word_power", "evenness", "whole")}
    weighings = {
        "shipped": own,
        "general weighing, same share": own._replace(**general),
        "general weighing, shares 0.15 and 1.15": own._replace(
            **general, share_of_odds=0.15, share_growth=1.15
        ),
    }
    print("\n".join(_table(weighings, asked)))  # noqa: T201 - its output


def _read(
    folder: Path, embedder: "Embedder", abilities: "Vectors"
) -> "list[tuple[Question, tuple[float, ...]]]":
    """Return the messages with a right tool, and how near the background is to their texts."""
    from acl.platform.strict_json import parse_json
    from discovery.evaluation.training.evidence import embed_reading, read_questions
    from discovery.select.common_abilities import nearness_to
    from discovery.select.message import read

    lines = (folder / "queries.jsonl").read_text("utf-8").splitlines()
    messages = [parse_json(line)["query"] for line in lines]
    near = (nearness_to(abilities, embed_reading(read(text), embedder)) for text in messages)
    pairs = zip(read_questions(folder, embedder), near, strict=True)
    return [(question, each) for question, each in pairs if question.wanted]


def _table(
    weighings: "dict[str, Scale]",
    asked: "dict[str, list[tuple[Question, tuple[float, ...]]]]",
) -> Iterator[str]:
    yield f"| weighing | {' | '.join(asked)} |"
    yield f"|---|{'--:|' * len(asked)}"
    for name, scale in weighings.items():
        cells = [_cell([_sent(one, near, scale) for one, near in some]) for some in asked.values()]
        yield f"| {name} | {' | '.join(cells)} |"


def _sent(question: "Question", near: Sequence[float], scale: "Scale") -> Sent:
    from discovery.select.ranking.answer_places import Candidate, choose
    from discovery.select.ranking.fusion import judge
    from discovery.select.ranking.thresholds import FLOOR, cut, is_enough, margin

    judged = judge(question.evidence, question.features, scale)
    candidates = [Candidate(key, row.score, row.clause_scores) for key, row in enumerate(judged)]
    scores = [row.score for row in judged]
    fits = is_enough(margin(question.cosines.tolist(), near), least=scale.least_margin)
    least = cut(scores, "fits" if fits else "nothing_fits", share=scale.share(len(near) - 1))
    before = max(FLOOR, OLD_CUT * max(scores))
    best = np.argsort(-np.array(scores), kind="stable")[:5]
    counts = [question.right[best].sum() / question.wanted]
    for threshold in (least, before):
        # A clause's best has a place whatever the threshold, but not if nothing fits.
        chosen = choose(candidates, max_tools=10, threshold=threshold) if threshold <= 1 else []
        right = sum(bool(question.right[place.candidate.key]) for place in chosen)
        counts += [right / question.wanted, len(chosen)]
    return Sent(*counts)


def _cell(rows: Sequence[Sent]) -> str:
    first, right, number, right_before, number_before = 100 * np.mean(rows, axis=0)
    share = 100 * number / number_before
    return f"{first:.1f} / {right:.1f} ({right - right_before:+.1f}) / {share:.0f} %"


if __name__ == "__main__":
    main()
