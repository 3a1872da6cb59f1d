"""Embedding providers: the default one, and an OpenAI-compatible endpoint, which is faked here."""

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
import pytest

from catalog.embedding import model_conversion
from catalog.embedding._openai_embedder import BATCH, OpenAIEmbedder
from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.multilingual_embedder import embed_documents
from catalog.embedding.onnx_embedder import OnnxEmbedder, start_session
from tests.ranking.tool_texts import TOOL_TEXTS


@pytest.fixture(scope="module")
def base_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The base model, whose weights are compared here."""
    return model_conversion.convert_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def embedder(base_folder: Path) -> OnnxEmbedder:
    """The base model instead of the trained one, in this file only."""
    return OnnxEmbedder(base_folder)


def test_vectors_have_length_one(embedder: OnnxEmbedder) -> None:
    vectors = embedder.embed(["send an email", "", "天气 🌦", "word " * 5_000])

    assert vectors.shape == (4, embedder.dimension)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)


def test_nothing_gives_no_vectors(embedder: OnnxEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 384)
    assert embed_documents(embedder, []).shape == (0, 384)


def test_likeness_follows_meaning(embedder: OnnxEmbedder) -> None:
    mail, letter, pasta = embedder.embed(["send a mail", "write an e-mail to Bob", "boil pasta"])

    assert mail @ letter > 0.5 > mail @ pasta


def test_vector_does_not_depend_on_the_texts_beside_it(embedder: OnnxEmbedder) -> None:
    alone = embedder.embed(["book a flight"])[0]

    beside = embedder.embed(["long " * 100, "book a flight", "x"])[1]

    assert np.array_equal(alone, beside)


def test_readings_of_a_text_are_averaged(embedder: OnnxEmbedder) -> None:
    both = embed_documents(embedder, ["one reading\nanother one", "single"])

    first, second, single = embedder.embed(["one reading", "another one", "single"])

    mean = (first + second) / np.linalg.norm(first + second)
    assert both[0] == pytest.approx(mean, abs=1e-5)
    assert both[1] == pytest.approx(single, abs=1e-5)


def test_int8_agrees_with_float32(embedder: OnnxEmbedder) -> None:
    weights = model_conversion.read_weights(model_conversion.source_folder() / "model.safetensors")
    model = model_conversion.build_model(weights, quantised=False).SerializeToString()
    session = start_session(model)
    ids = [embedder._tokenizer.encode(text).ids for text in TOOL_TEXTS]

    exact = np.vstack([session.run(None, {"ids": np.array([row])})[0] for row in ids])

    assert (embedder.embed(TOOL_TEXTS) * exact).sum(axis=1).mean() > 0.99


def test_conversion_is_the_same_every_time(base_folder: Path, tmp_path: Path) -> None:
    again = model_conversion.convert_model(tmp_path / "again")

    assert (again / "record.json").read_bytes() == (base_folder / "record.json").read_bytes()


def test_finished_conversion_is_kept(base_folder: Path) -> None:
    before = (base_folder / "model.onnx").stat().st_mtime_ns

    model_conversion.convert_model(base_folder)

    assert (base_folder / "model.onnx").stat().st_mtime_ns == before


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "record.json"])
def test_damaged_file_is_noticed_and_mended(name: str, tmp_path: Path) -> None:
    folder = model_conversion.convert_model(tmp_path)
    (folder / name).write_bytes((folder / name).read_bytes()[:-100] + b"{" * 100)

    with pytest.raises(EmbedderUnavailable, match=name):
        OnnxEmbedder(folder)

    assert OnnxEmbedder(model_conversion.convert_model(folder)).dimension == 384


def test_missing_model_is_told_clearly(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match=r"cannot be read"):
        OnnxEmbedder(tmp_path)


def test_weights_that_are_not_known_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"something else")

    with pytest.raises(EmbedderUnavailable, match="wrong checksum"):
        model_conversion.read_weights(tmp_path / "model.safetensors")


Answer = Callable[[httpx.Request], httpx.Response]


def _embedder(answer: Answer) -> OpenAIEmbedder:
    return OpenAIEmbedder(
        url="https://embeddings.example/v1/",
        key="sk-secret",
        model="small",
        dimension=3,
        transport=httpx.MockTransport(answer),
    )


def _well(request: httpx.Request) -> httpx.Response:
    texts = json.loads(request.content)["input"]
    rows = [{"index": place, "embedding": [len(text), 1, 0]} for place, text in enumerate(texts)]
    return httpx.Response(200, json={"data": rows[::-1]})


def test_vectors_come_back_in_order_and_of_length_one() -> None:
    vectors = _embedder(_well).embed(["a", "a" * 100])

    assert vectors[0, 0] < vectors[1, 0]
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0)


def test_many_texts_go_in_batches() -> None:
    sizes: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sizes.append(len(json.loads(request.content)["input"]))
        return _well(request)

    vectors = _embedder(answer).embed(["text"] * (BATCH + 1))

    assert sizes == [BATCH, 1]
    assert len(vectors) == BATCH + 1


def test_key_is_sent_to_the_endpoint_alone() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(302, headers={"location": "https://elsewhere.example/"})

    with pytest.raises(EmbedderUnavailable, match="302") as caught:
        _embedder(answer).embed(["text"])

    assert [request.url.host for request in seen] == ["embeddings.example"]
    assert seen[0].headers["authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>", "invalid response"),
        (b'{"data": [{"index": 0, "embedding": [1, 2]}]}', "not 1 vectors of 3"),
        (b'{"data": []}', "not 1 vectors of 3"),
        (b'{"data": [{"index": 0, "embedding": [1, 2, NaN]}]}', "invalid response"),
        (b'{"data": [{"index": 0, "embedding": "abc"}]}', "invalid response"),
        (b" " * 200_000, "too large"),
    ],
)
def test_wrong_answer_is_refused_with_a_reason(body: bytes, reason: str) -> None:
    with pytest.raises(EmbedderUnavailable, match=reason):
        _embedder(lambda request: httpx.Response(200, content=body)).embed(["text"])


def test_silent_endpoint_is_told_clearly() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("", request=request)

    with pytest.raises(EmbedderUnavailable, match="did not answer in time"):
        _embedder(answer).embed(["text"])


def test_nothing_is_asked_for_no_texts() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise AssertionError(request)

    assert _embedder(answer).embed([]).shape == (0, 3)


def test_endpoint_that_wants_a_key_is_told_until_it_answers() -> None:
    statuses = [401, 200]

    def answer(request: httpx.Request) -> httpx.Response:
        status = statuses.pop(0)
        return httpx.Response(status) if status != 200 else _well(request)

    embedder = OpenAIEmbedder(
        url="https://embeddings.example/v1",
        key="",
        model="small",
        dimension=3,
        transport=httpx.MockTransport(answer),
    )
    with pytest.raises(EmbedderUnavailable, match="PEGBOARD_EMBEDDING_KEY is not set"):
        embedder.embed(["text"])
    told = embedder.problem
    embedder.embed(["text"])

    assert "401" in told
    assert embedder.problem == ""
