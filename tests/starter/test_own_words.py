"""No sentence of the collection occurs in a reference document or sample."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from marketplace.offers.kinds.starter import starter_collection, starter_listings

SHARED = Path(__file__).resolve().parents[3] / "shared"
SHORT = 6  # words; shorter sentences may coincide

pytestmark = pytest.mark.skipif(
    not (SHARED / "seeds").is_dir(), reason="the reference documents are not beside the project"
)


def test_no_sentence_is_taken_from_the_reference_documents() -> None:
    files = [*(SHARED / "seeds").glob("*.txt"), *(SHARED / "samples").rglob("*.*")]
    texts = [file.read_text(encoding="utf-8", errors="ignore") for file in files if file.is_file()]
    reference = f" {' '.join(_words(' '.join(texts)))} "

    taken = [sentence for sentence in _our_sentences() if f" {sentence} " in reference]

    assert len(reference) > 100_000
    assert taken == []


def _our_sentences() -> Iterator[str]:
    collection = starter_collection()
    texts = [integration.description for integration in collection.integrations]
    texts += [capability.description for capability in collection.capabilities]
    texts += [listing.description for listing in starter_listings()]
    texts += [capability.content for capability in collection.capabilities]
    texts += [example for capability in collection.capabilities for example in capability.examples]
    for text in texts:
        for sentence in re.split(r"[.!?]\s|\n\n|\n[-#\d]", text + "\n\n"):
            words = _words(sentence)
            if len(words) > SHORT:
                yield " ".join(words)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
