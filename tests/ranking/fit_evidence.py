"""Evidence of labelled messages, for whether something fits. Needs no database."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from acl.platform.strict_json import parse_json
from catalog import lexical
from catalog.embedding.embedder import Vectors
from catalog.embedding.multilingual_embedder import embed_documents
from catalog.embedding.onnx_embedder import OnnxEmbedder
from catalog.embedding.query_vectors import EmbeddedTexts
from catalog.embedding.texts import embedding_text
from catalog.formats.loader import load_path
from discovery.select.example_texts import embed_examples, nearest_of, read_abilities
from discovery.select.message import read
from discovery.select.ranking.fit import need_of_tools, something_fits
from discovery.select.ranking.fusion import (
    MatchEvidence,
    MessageFeatures,
    judge,
    scale_of,
    shipped_scale,
)
from discovery.select.ranking.thresholds import cut, margin

PLACES = 10
MESSAGES = Path(__file__).parent / "nothing_fits"


@dataclass(frozen=True)
class Verdict:
    """Result of a message: if anything fits, and if a right tool is among the sent.

    `known` is True if a right tool is among the ten best, as without any threshold. `margin` is of
    the best candidate over the background, `cosine` its own nearness.
    """

    wanted: bool
    part: str
    fits: bool
    sent: int
    known: bool
    right: bool
    margin: float
    cosine: float


class _Found(NamedTuple):
    margin: float
    cosine: float
    clauses: int


@cache
def read_verdicts(name: str, catalog: Path, embedder: OnnxEmbedder) -> list[Verdict]:
    """Judge the messages of a set over its catalogue, once per process."""
    capabilities = load_path(catalog).capabilities
    vectors = embed_documents(embedder, [embedding_text(each) for each in capabilities])
    documents = [lexical.document_vector(each) for each in capabilities]
    abilities = _abilities(embedder)
    identifiers = [each.identifier for each in capabilities]
    scale = scale_of(embedder.name)
    verdicts = []
    for row in _rows(name):
        texts = read(row["query"]).texts
        embedded = embedder.embed(list(texts))
        cosines = (vectors @ embedded.T).tolist()
        queries = [lexical.query_vector(text) for text in texts]
        features = MessageFeatures(tuple(lexical.max_score(query) for query in queries))
        words = [tuple(_score(document, query) for query in queries) for document in documents]
        evidence = [MatchEvidence(tuple(c), w) for c, w in zip(cosines, words, strict=True)]
        judged = judge(evidence, features, scale)
        near = nearest_of(abilities, embedded)
        likeness = (vectors @ near.vectors.T).max(axis=0).tolist()
        ahead = margin(cosines, near.nearness(likeness)) or 0.0
        found = _Found(ahead, max(map(max, cosines)), len(texts) - 1)
        fits = something_fits(
            judged,
            list(map(max, words)),
            ahead,
            scale,
            words=len(queries[0]),
            need=need_of_tools(EmbeddedTexts(embedder.name, embedded)),
        )
        scores = [item.score for item in judged]
        verdicts.append(_verdict(row, identifiers, scores, found, fits=fits))
    return verdicts


@cache
def _abilities(embedder: OnnxEmbedder) -> Vectors:
    return embed_examples(read_abilities(), embedder)


def _rows(name: str) -> Iterator[dict[str, Any]]:
    for line in (MESSAGES / f"{name}.jsonl").read_text("utf-8").splitlines():
        yield parse_json(line)


def _score(document: dict[int, float], query: dict[int, float]) -> float:
    return sum(weight * document.get(index, 0.0) for index, weight in query.items())


def _verdict(
    row: dict[str, Any],
    identifiers: Sequence[str],
    scores: Sequence[float],
    found: _Found,
    *,
    fits: bool,
) -> Verdict:
    right = {*row["relevant"], *(o for each in row.get("alternatives", {}).values() for o in each)}
    best = np.argsort(-np.array(scores), kind="stable")[:PLACES]
    scale = shipped_scale()
    share, growth = scale.share(found.clauses), scale.growth(found.clauses)
    least = cut(scores, share=share, growth=growth) if fits else 2.0
    sent = [identifiers[place] for place in best if scores[place] >= least]
    return Verdict(
        wanted=bool(row["relevant"]),
        part=str(row["part"]),
        fits=fits,
        sent=len(sent),
        known=any(identifiers[place] in right for place in best),
        right=bool(right.intersection(sent)),
        margin=found.margin,
        cosine=found.cosine,
    )
