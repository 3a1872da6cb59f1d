"""The shipped labelled set, with which `evaluate` works in any clone."""

import json
import re
from collections import Counter
from typing import Any

import pytest

from marketplace.offers.kinds.starter import starter_collection
from tests.starter.labelled import CATALOG, QUERIES, catalog_text

MESSAGES: list[dict[str, Any]] = [
    json.loads(line) for line in QUERIES.read_text(encoding="utf-8").splitlines()
]
SPLITS = {"single": 80, "multi": 25, "language": 15, "followup": 8, "smalltalk": 25}


def test_catalogue_of_the_set_is_the_collection() -> None:
    assert CATALOG.read_text(encoding="utf-8") == catalog_text()


def test_labels_exist_in_the_collection() -> None:
    known = {capability.identifier for capability in starter_collection().capabilities}
    labels = {label for message in MESSAGES for label in _all_labels(message)}

    assert labels <= known


def test_every_capability_is_asked_for_at_least_once() -> None:
    known = {capability.identifier for capability in starter_collection().capabilities}
    asked_for = {label for message in MESSAGES for label in message["relevant"]}

    assert asked_for == known


@pytest.mark.parametrize(("split", "at_least"), SPLITS.items())
def test_each_split_is_large_enough_and_halved(split: str, at_least: int) -> None:
    parts = Counter(message["part"] for message in MESSAGES if message["split"] == split)

    assert parts.total() >= at_least
    assert set(parts) == {"dev", "test"}
    assert abs(parts["dev"] - parts["test"]) <= 1


def test_no_message_comes_twice() -> None:
    texts = [(message["query"].casefold(), *message.get("history", ())) for message in MESSAGES]
    qids = [message["qid"] for message in MESSAGES]

    assert len(set(texts)) == len(texts)
    assert len(set(qids)) == len(qids)


def test_number_of_labels_fits_the_split() -> None:
    counts = {
        split: {len(m["relevant"]) for m in MESSAGES if m["split"] == split} for split in SPLITS
    }

    assert counts["smalltalk"] == {0}
    assert counts["multi"] == {2, 3}
    assert counts["single"] == counts["language"] == counts["followup"] == {1}


def test_only_followups_have_a_history() -> None:
    with_history = {message["split"] for message in MESSAGES if message.get("history")}

    assert with_history == {"followup"}
    assert all(m.get("history") for m in MESSAGES if m["split"] == "followup")


def test_alternatives_stand_for_a_relevant_one_and_are_not_relevant_themselves() -> None:
    for message in MESSAGES:
        alternatives = message.get("alternatives", {})

        assert set(alternatives) <= set(message["relevant"])
        assert not {a for several in alternatives.values() for a in several} & set(
            message["relevant"]
        )


def test_collection_never_quotes_a_message() -> None:
    runs = {
        run for m in MESSAGES for text in (m["query"], *m.get("history", ())) for run in _runs(text)
    }
    capabilities = starter_collection().capabilities

    quoting = [
        text for c in capabilities for text in (c.description, *c.examples) if runs & _runs(text)
    ]

    assert len(runs) > 500
    assert quoting == []


def _runs(text: str) -> set[tuple[str, ...]]:
    """Return all sequences of four words."""
    found = re.findall(r"\w+", text.lower())
    return set(zip(found, found[1:], found[2:], found[3:], strict=False))


def _all_labels(message: dict[str, Any]) -> list[str]:
    alternatives = message.get("alternatives", {}).values()
    return [*message["relevant"], *(label for several in alternatives for label in several)]
