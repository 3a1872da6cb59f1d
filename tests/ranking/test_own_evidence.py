"""Capabilities that no relation raises, and deletions that nobody asked for."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.embedding.embedder import Vectors
from catalog.embedding.multilingual_model import (
    MultilingualEncoder,
    prepare_multilingual,
    read_map,
)
from catalog.embedding.onnx_embedder import OnnxEmbedder
from catalog.embedding.query_vectors import EmbeddedTexts
from discovery.select.asks_to_delete import asks_to_delete
from discovery.select.ranking.competition import UNASKED_DELETION, needs_own_evidence
from discovery.select.ranking.fusion import MatchEvidence, MessageFeatures, judge
from tests.ranking.conftest import needs_package
from tests.ranking.languages import DELETIONS


@dataclass(frozen=True)
class Tool:
    action: str
    side_effect: str


@pytest.mark.parametrize(
    ("action", "effect", "needs"),
    [
        ("delete_event", "delete", True),
        ("list_events", "read", False),
        ("create_event", "write", False),
        ("payInvoice", "write", True),
        ("transfer_money", "write", True),
        ("list_payments", "read", False),
        ("get_payment", "read", False),
    ],
)
def test_deleting_and_paying_need_evidence_of_their_own(
    action: str, effect: str, needs: bool
) -> None:
    assert needs_own_evidence(Tool(action, effect)) is needs


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> MultilingualEncoder:
    root = tmp_path_factory.mktemp("languages")
    prepare_multilingual(root)
    return MultilingualEncoder(root)


def _embed(
    messages: list[str], language: str, shipped: OnnxEmbedder, encoder: MultilingualEncoder
) -> list[EmbeddedTexts]:
    english = language == "en"
    vectors = shipped.embed(messages) if english else read_map().apply(encoder.embed(messages))
    return [EmbeddedTexts(shipped.name, vector[None]) for vector in vectors]


@needs_package
def test_requests_that_delete_are_told_in_any_language(
    embedder: OnnxEmbedder, encoder: MultilingualEncoder
) -> None:
    deleting = [
        asks_to_delete(embedded)
        for language, messages in DELETIONS["deleting"].items()
        for embedded in _embed(messages, language, embedder, encoder)
    ]
    others = [
        asks_to_delete(embedded)
        for language, messages in DELETIONS["others"].items()
        for embedded in _embed(messages, language, embedder, encoder)
    ]

    assert np.mean(deleting) >= 0.95
    assert np.mean(others) <= 0.25


def test_one_clause_that_deletes_is_enough_and_an_unknown_model_too(embedder: OnnxEmbedder) -> None:
    texts = ("add milk to the list and delete the meeting", "add milk to the list")
    vectors: Vectors = embedder.embed((*texts, "delete the meeting"))

    assert not asks_to_delete(EmbeddedTexts(embedder.name, vectors[1:2]))
    assert asks_to_delete(EmbeddedTexts(embedder.name, vectors))
    assert asks_to_delete(EmbeddedTexts("another", vectors[1:2]))
    assert asks_to_delete(None)


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 40)), min_size=2, max_size=8))
def test_unasked_deletion_loses_and_nothing_else_moves(matches: list[tuple[float, float]]) -> None:
    evidence = [MatchEvidence((cosine,), (words,)) for cosine, words in matches]
    message = MessageFeatures((80.0,))
    unasked = [evidence[0]._replace(against=UNASKED_DELETION), *evidence[1:]]

    before, after = judge(evidence, message), judge(unasked, message)

    assert after[0].strength == pytest.approx(before[0].strength - UNASKED_DELETION)
    assert after[1:] == before[1:]
