"""An OpenAI-compatible endpoint, faked by a transport in this process."""

import json
from collections.abc import Callable

import httpx
import numpy as np
import pytest

from catalog.embedding._openai_embedder import BATCH, OpenAIEmbedder
from catalog.embedding.embedder import EmbedderUnavailable

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
