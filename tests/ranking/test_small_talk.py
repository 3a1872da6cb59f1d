"""Greetings, thanks and chat, told from requests."""

import json
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from catalog.embedding.onnx_embedder import OnnxEmbedder
from catalog.embedding.query_vectors import EmbeddedTexts
from discovery.select import example_texts
from discovery.select._glossary import add_english
from discovery.select.example_texts import digest_of, read_abilities, read_vectors, write_vectors
from discovery.select.small_talk import chance_of_small_talk, is_small_talk, read_small_talk
from marketplace.offers.kinds.starter import FOLDER

Embed = Callable[..., EmbeddedTexts]


@pytest.fixture
def embed(embedder: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch) -> Embed:
    """Embed without the query cache, and classify by the same model."""
    monkeypatch.setattr(example_texts, "answering_embedder", lambda: embedder)
    monkeypatch.setattr(example_texts, "attempt", lambda call, default: default)
    return lambda *texts: EmbeddedTexts(embedder.name, embedder.embed(texts))


@pytest.mark.parametrize(
    "message", ["hello", "Thanks!", "ok great", "", "👍", "Guten Morgen!", "merci beaucoup"]
)
def test_polite_words_are_small_talk_even_without_a_model(message: str) -> None:
    assert is_small_talk(message, None, 0.0)


@pytest.mark.parametrize(
    "message", ["send", "weather", "help", "how much is it", "help with my invoice", "Wetter?"]
)
def test_word_with_a_subject_is_no_small_talk(message: str) -> None:
    assert not is_small_talk(message, None, 0.0)


@pytest.mark.parametrize(
    "message", ["I feel great today", "you made me laugh", "what a beautiful evening it was"]
)
def test_chat_is_small_talk(message: str, embed: Embed) -> None:
    assert is_small_talk(message, embed(message), 0.3)


@pytest.mark.parametrize(
    "message",
    ["I'm so sorry I shouted at you", "I am ashamed of what I said", "Es tut mir leid",
     "je me sens seul", "lo siento mucho", "sono triste", "sinto-me sozinho", "ik voel me rot",
     "jest mi smutno"],
)  # fmt: skip
def test_apologies_and_feelings_are_small_talk(message: str, embed: Embed) -> None:
    assert is_small_talk(message, embed(*add_english((message,))), 0.5)


def test_chat_beyond_doubt_may_share_words_with_a_tool(embed: Embed) -> None:
    assert is_small_talk("Do you like music?", embed("Do you like music?"), 0.85)
    assert not is_small_talk("I feel great today", embed("I feel great today"), 0.99)


@pytest.mark.parametrize(
    "message", ["please book me a hotel room in Vienna", "the plumber has been paid", "rain today?"]
)
def test_request_is_no_small_talk(message: str, embed: Embed) -> None:
    assert not is_small_talk(message, embed(message), 0.3)


def test_one_request_among_the_clauses_is_enough(embed: Embed) -> None:
    message = "that was lovely. send Tom the photos"

    assert not is_small_talk(message, embed(message, "that was lovely", "send Tom the photos"), 0.3)


def test_message_that_a_capability_clearly_fits_is_no_small_talk() -> None:
    assert not is_small_talk("good morning", None, 0.95)


def test_more_is_asked_of_what_goes_on_with_a_request(embed: Embed) -> None:
    assert not is_small_talk("no, better four", embed("no, better four"), 0.9, goes_on=True)
    assert is_small_talk("I like it", embed("I like it"), 0.9, goes_on=True)


def test_long_story_is_never_small_talk(embed: Embed) -> None:
    message = "I am so happy today because " + "the sun shines and " * 9 + "all is well"

    assert not is_small_talk(message, embed(message), 0.0)


def test_model_that_no_longer_answers_is_not_compared_with(embed: Embed) -> None:
    other = EmbeddedTexts("another-model", embed("you made me laugh").vectors)

    assert chance_of_small_talk("you made me laugh", other) == 0.0


def test_examples_are_no_messages_of_the_labelled_set() -> None:
    lines = (FOLDER / "labelled" / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    labelled = {_bare(json.loads(line)["query"]) for line in lines}
    small, requests = _examples("small_talk_examples.txt"), _examples("request_examples.txt")

    assert min(len(small), len(requests)) > 350
    assert not set(small) & set(requests)
    assert not labelled & {_bare(example) for example in small + requests}


def _examples(name: str) -> list[str]:
    return (files("discovery.select") / name).read_text(encoding="utf-8").splitlines()


def _bare(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


@pytest.mark.parametrize("read", [read_small_talk, read_abilities])
def test_shipped_vectors_are_those_of_the_texts(
    read: Callable[[], list[str]], embedder: OnnxEmbedder
) -> None:
    texts = read()
    shipped = read_vectors(embedder.name, digest_of(texts))

    assert shipped is not None, "write them: lab.training.embed_examples"
    some = slice(None, None, 25)
    assert np.einsum("ij,ij->i", shipped[some], embedder.embed(texts[some])).min() > 0.99


def test_vectors_of_another_model_or_other_texts_are_not_read(tmp_path: Path) -> None:
    file, vectors = tmp_path / "vectors", np.eye(2, 384, dtype=np.float32)
    write_vectors("this", {digest_of(["a", "b"]): vectors}, file)
    (tmp_path / "damaged").write_bytes(file.read_bytes()[:40])

    read = read_vectors("this", digest_of(["a", "b"]), file)

    assert read is not None
    assert np.array_equal(read, vectors)
    assert read_vectors("other", digest_of(["a", "b"]), file) is None
    assert read_vectors("this", digest_of(["a", "c"]), file) is None
    assert read_vectors("this", digest_of(["a", "b"]), tmp_path / "damaged") is None
    assert read_vectors("this", digest_of(["a", "b"]), tmp_path / "none") is None
