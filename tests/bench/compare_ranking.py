"""Compares ways of ranking on labelled sets, with the candidates that the selector would see.

    python -m tests.bench.compare_ranking ../shared/eval

Prints the table of docs/choosing.md. Needs no database: capabilities, texts, clauses, words, fusion
and places are the product's own, and only the choice of candidates is done here as the SQL does it.
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from catalog import lexical
from catalog.descriptors import Descriptor
from catalog.embedding.convert import convert_model
from catalog.embedding.documents import embed_documents
from catalog.embedding.onnx import OnnxEmbedder
from catalog.embedding.text import embedding_text
from catalog.normalizing.sources import load_path
from discovery.clauses import split
from discovery.glossary import add_english
from discovery.ranking import fusion
from discovery.ranking.fusion import Evidence, MessageFeatures, fuse, judge
from discovery.ranking.places import Candidate, choose
from discovery.ranking.thresholds import cut
from discovery.retrieval import NEAREST, NEAREST_OF_SEVERAL

SETS = ("metatool", "bfcl-pooled", "toollinkos", "seal-tools")
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Question:
    """A message with its candidates' evidence: a column for the whole and for each clause."""

    cosines: Array
    words: Array
    ideals: tuple[float, ...]
    right: npt.NDArray[np.bool_]  # which candidates are right
    wanted: int  # how many right answers there are, found or not

    @property
    def evidence(self) -> list[Evidence]:
        pairs = zip(self.cosines.tolist(), self.words.tolist(), strict=True)
        return [Evidence(tuple(cosines), tuple(words)) for cosines, words in pairs]


Ranking = Callable[[Question], Array]


def questions(folder: Path, embedder: OnnxEmbedder, *, readings: int = 2) -> Iterator[Question]:
    """Every message of a labelled set, with the candidates that the selector would see."""
    capabilities = load_path(folder / "catalog.jsonl").capabilities
    texts = ["\n".join(embedding_text(each).split("\n")[:readings]) for each in capabilities]
    vectors, documents = embed_documents(embedder, texts), _documents(capabilities)
    identifiers = np.array([each.identifier for each in capabilities])
    for line in (folder / "queries.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        message = add_english((row["query"], *split(row["query"])))
        queries = [lexical.query_vector(text) for text in message]
        cosines = vectors @ embedder.embed(message).T
        words = np.asarray((documents @ _matrix(queries).T).todense())
        seen = _candidates(cosines, words)
        yield Question(
            cosines[seen],
            words[seen],
            tuple(lexical.max_score(query) for query in queries),
            np.isin(identifiers[seen], row["relevant"]),
            len(row["relevant"]),
        )


def _documents(capabilities: Sequence[Descriptor]) -> Any:
    return _matrix([lexical.document_vector(each) for each in capabilities])


def _matrix(vectors: Sequence[dict[int, float]]) -> Any:
    starts = np.cumsum([0, *map(len, vectors)])
    columns = [index for vector in vectors for index in vector]
    values = [value for vector in vectors for value in vector.values()]
    return sparse.csr_matrix((values, columns, starts), shape=(len(vectors), lexical.DIMENSIONS))


def _candidates(cosines: Array, words: Array) -> Array:
    """As in the SQL."""
    limit = NEAREST if words.shape[1] == 1 else NEAREST_OF_SEVERAL
    near = np.argsort(-cosines.max(axis=1), kind="stable")[:limit]
    worded = np.argsort(-words[:, 0], kind="stable")[:limit]
    return np.union1d(near, worded[words[worded, 0] > 0])


def by_meaning(question: Question) -> Array:
    return question.cosines[:, 0]


def by_words(question: Question) -> Array:
    return question.words[:, 0]


def by_rank_fusion(question: Question) -> Array:
    arms = (question.cosines[:, 0], question.words[:, 0])
    return np.asarray(sum(1 / (60 + np.argsort(np.argsort(-arm))) for arm in arms))


def _added(question: Question) -> Array:
    """Cosine and a fixed share of the words, best of all at 0.2; for the whole and each clause."""
    best = max(float(question.words[:, 0].max()), 1e-9)
    return question.cosines + 0.2 * question.words / best


def by_fixed_weight(question: Question) -> Array:
    return _added(question)[:, 0]


def by_best_clause(question: Question) -> Array:
    added = _added(question)
    return added[:, 1:].max(axis=1) if added.shape[1] > 1 else added[:, 0]


def by_mean_of_whole_and_best_clause(question: Question) -> Array:
    return (by_fixed_weight(question) + by_best_clause(question)) / 2


def by_whole_message(question: Question) -> Array:
    whole = [Evidence(each.cosines[:1], each.lexicals[:1]) for each in question.evidence]
    return np.array(fuse(whole, MessageFeatures(question.ideals[:1])))


def by_fusion(question: Question) -> Array:
    return np.array(fuse(question.evidence, MessageFeatures(question.ideals)))


def by_uneven_fusion(question: Question) -> Array:
    """The final fusion without measuring candidates against the best of their clause."""
    kept, fusion.EVENNESS = fusion.EVENNESS, 0.0
    try:
        return by_fusion(question)
    finally:
        fusion.EVENNESS = kept


METHODS: dict[str, Ranking] = {
    "meaning alone": by_meaning,
    "words alone": by_words,
    "reciprocal rank fusion": by_rank_fusion,
    "meaning + 0.2 x words / best words": by_fixed_weight,
    "the same, best clause": by_best_clause,
    "the same, mean of whole and best clause": by_mean_of_whole_and_best_clause,
    "words trusted by message, no clauses": by_whole_message,
    "words trusted by message, clauses not evened out": by_uneven_fusion,
    "final": by_fusion,
}


def measure(asked: Sequence[Question], rank: Ranking) -> tuple[float, float, float]:
    """recall@5, NDCG@10 and complete@10, in per cent."""
    scores = [_measures(question, rank(question)) for question in asked]
    recall, ndcg, complete = (float(value) for value in 100 * np.mean(scores, axis=0))
    return recall, ndcg, complete


def _measures(question: Question, scores: Array) -> tuple[float, float, float]:
    gains = question.right[np.argsort(-scores, kind="stable")[:10]]
    discounts = 1 / np.log2(np.arange(2, 12))
    ideal = discounts[: min(10, question.wanted)].sum()
    ndcg = (gains * discounts[: len(gains)]).sum() / ideal
    return gains[:5].sum() / question.wanted, ndcg, float(gains.sum() == question.wanted)


def selection(asked: Sequence[Question]) -> tuple[float, float, float]:
    """Length, recall and precision of what `select` gives of ten places."""
    return tuple(np.mean([_selected(question) for question in asked], axis=0).tolist())


def _selected(question: Question) -> tuple[float, float, float]:
    features = MessageFeatures(question.ideals)
    judged = judge(question.evidence, features)
    candidates = [Candidate(key, row.score, row.clause_scores) for key, row in enumerate(judged)]
    chosen = choose(candidates, max_tools=10, threshold=cut([row.score for row in judged]))
    right = sum(bool(question.right[place.candidate.key]) for place in chosen)
    return len(chosen), 100 * right / question.wanted, 100 * right / max(1, len(chosen))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="holds one folder for each labelled set")
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as model:
        embedder = OnnxEmbedder(convert_model(Path(model)))
        asked = {name: list(questions(folder / name, embedder)) for name in SETS}
        single = {name: list(questions(folder / name, embedder, readings=1)) for name in SETS}
    lines = [("method", *SETS), ("---", *("---" for _ in SETS))]
    for name, method in METHODS.items():
        lines.append((name, *(_cells(measure(asked[each], method)) for each in SETS)))
    lines.append(
        ("final, one reading", *(_cells(measure(single[each], by_fusion)) for each in SETS))
    )
    lines.append(("selected", *(_cells(selection(asked[each])) for each in SETS)))
    print("\n".join(f"| {' | '.join(line)} |" for line in lines))  # noqa: T201 - its output


def _cells(values: Sequence[float]) -> str:
    return " / ".join(f"{value:.1f}" for value in values)


if __name__ == "__main__":
    main()
