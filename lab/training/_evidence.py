"""Evidence for the candidates of a labelled set's messages, without a database.

Loading, embedding, clauses, words and fusion are the product's own. Only the choice of candidates
repeats in Python what the selector does in SQL.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from acl.platform.strict_json import parse_json
from catalog import lexical
from catalog.embedding.embedder import Embedder, Vectors, normalize_rows
from catalog.embedding.multilingual_embedder import embed_documents, multilingual_embedder
from catalog.embedding.texts import embedding_text
from catalog.formats.descriptors import Descriptor
from catalog.formats.loader import load_path
from catalog.search_index.rows import FEWEST_TOOLS, MOST_TOOLS
from discovery.evaluation import stored_id
from discovery.select.candidates import NEAREST, NEAREST_OF_SEVERAL
from discovery.select.message import MessageTexts, read
from discovery.select.ranking.fusion import GENERAL, MatchEvidence, MessageFeatures, Scale, fuse

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class LabelledQuestion:
    """A message with its candidates' evidence; columns: the whole message, then its clauses."""

    cosines: Array
    words: Array
    ideals: tuple[float, ...]
    right: npt.NDArray[np.bool_]  # for each candidate, if it is right
    wanted: int  # number of right answers, found or not
    places: npt.NDArray[np.int64]  # positions of the candidates in the catalogue
    servers: Array | None = None  # cosines of their servers' means; not a number without one

    @property
    def evidence(self) -> list[MatchEvidence]:
        servers = [()] * len(self.words) if self.servers is None else self.servers.tolist()
        rows = zip(self.cosines.tolist(), self.words.tolist(), servers, strict=True)
        return [
            MatchEvidence(tuple(cosines), tuple(words), server=_known(server))
            for cosines, words, server in rows
        ]

    @property
    def features(self) -> MessageFeatures:
        return MessageFeatures(self.ideals)

    def whole(self) -> "LabelledQuestion":
        """Return the question without its clauses."""
        return LabelledQuestion(
            self.cosines[:, :1],
            self.words[:, :1],
            self.ideals[:1],
            self.right,
            self.wanted,
            self.places,
        )


Ranking = Callable[[LabelledQuestion], Array]


def read_questions(
    folder: Path, embedder: Embedder, *, readings: int = 2
) -> Iterator[LabelledQuestion]:
    """Yield each message of a labelled set, with the candidates that the selector would find."""
    capabilities = load_path(folder / "catalog.jsonl").capabilities
    lines = (folder / "queries.jsonl").read_text("utf-8").splitlines()
    rows = map(parse_json, lines)
    messages = [
        LabelledRequest(row["query"], [stored_id(identifier) for identifier in row["relevant"]])
        for row in rows
    ]
    yield from find_evidence(capabilities, messages, embedder, readings=readings)


class LabelledRequest(NamedTuple):
    """A message and the identifiers of its right answers."""

    message: str
    relevant: Sequence[str]
    history: Sequence[str] = ()


def find_evidence(
    capabilities: Sequence[Descriptor],
    messages: Sequence[LabelledRequest],
    embedder: Embedder,
    *,
    readings: int = 2,
    vectors: Vectors | None = None,
) -> Iterator[LabelledQuestion]:
    """Yield each message with the candidates that the selector would find.

    `vectors` are the capabilities', where they were embedded before.
    """
    if vectors is None:
        whole = map(embedding_text, capabilities)
        texts = ["\n".join(text.split("\n")[:readings]) for text in whole]
        vectors = embed_documents(embedder, texts)
    documents = _documents(capabilities)
    means = _server_means(capabilities, vectors)
    identifiers = np.array([capability.identifier for capability in capabilities])
    for message, relevant, history in messages:
        reading = read(message, history)
        queries = [lexical.query_vector(text) for text in reading.texts]
        embedded = embed_reading(reading, embedder)
        cosines = vectors @ embedded.T
        words = np.asarray((documents @ _matrix(queries).T).todense())
        places = _candidates(cosines, words)
        yield LabelledQuestion(
            cosines[places],
            words[places],
            tuple(lexical.max_score(query) for query in queries),
            np.isin(identifiers[places], list(relevant)),
            len(relevant),
            places,
            means[places] @ embedded.T,
        )


def _server_means(capabilities: Sequence[Descriptor], vectors: Vectors) -> Vectors:
    """Return for each capability the mean vector of its server's, of length 1; not numbers where it
    has none."""
    servers = [str(capability.integration) for capability in capabilities]
    _, numbers, counts = np.unique(servers, return_inverse=True, return_counts=True)
    sums = np.zeros((len(counts), vectors.shape[1]), dtype=np.float32)
    np.add.at(sums, numbers, vectors)
    means = normalize_rows(sums)
    means[(counts < FEWEST_TOOLS) | (counts > MOST_TOOLS)] = np.nan
    return means[numbers]


def _known(cosines: Sequence[float]) -> tuple[float, ...]:
    return () if any(map(math.isnan, cosines)) else tuple(cosines)


def embed_reading(reading: MessageTexts, embedder: Embedder) -> Vectors:
    """Return the vectors of the message and its clauses, as the selector gets them."""
    if reading.foreign and (multilingual := multilingual_embedder(embedder.name)):
        return multilingual.embed(reading.foreign)
    return embedder.embed(reading.texts)


def _documents(capabilities: Sequence[Descriptor]) -> Any:
    return _matrix([lexical.document_vector(capability) for capability in capabilities])


def _matrix(vectors: Sequence[dict[int, float]]) -> Any:
    from scipy import sparse

    starts = np.cumsum([0, *map(len, vectors)])
    columns = [index for vector in vectors for index in vector]
    values = [value for vector in vectors for value in vector.values()]
    return sparse.csr_matrix((values, columns, starts), shape=(len(vectors), lexical.DIMENSIONS))


def _candidates(cosines: Array, words: Array) -> Array:
    """Choose candidates as the selector's SQL does."""
    limit = NEAREST if words.shape[1] == 1 else NEAREST_OF_SEVERAL
    near = np.argsort(-cosines.max(axis=1), kind="stable")[:limit]
    worded = np.argsort(-words[:, 0], kind="stable")[:limit]
    return np.union1d(near, worded[words[worded, 0] > 0])


def by_meaning(question: LabelledQuestion) -> Array:
    return question.cosines[:, 0]


def by_fusion(question: LabelledQuestion, scale: Scale = GENERAL) -> Array:
    return np.array(fuse(question.evidence, question.features, scale))


def by_whole_message(question: LabelledQuestion, scale: Scale = GENERAL) -> Array:
    return by_fusion(question.whole(), scale)


def measure(questions: Sequence[LabelledQuestion], rank: Ranking) -> tuple[float, float, float]:
    """Return recall@5, NDCG@10 and complete@10 in per cent."""
    scores = [_measures(question, rank(question)) for question in questions]
    recall, ndcg, complete = (float(value) for value in 100 * np.mean(scores, axis=0))
    return recall, ndcg, complete


def _measures(question: LabelledQuestion, scores: Array) -> tuple[float, float, float]:
    gains = question.right[np.argsort(-scores, kind="stable")[:10]]
    discounts = 1 / np.log2(np.arange(2, 12))
    ideal = discounts[: min(10, question.wanted)].sum()
    ndcg = (gains * discounts[: len(gains)]).sum() / ideal
    return gains[:5].sum() / question.wanted, ndcg, float(gains.sum() == question.wanted)
