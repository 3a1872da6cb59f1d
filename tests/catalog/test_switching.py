import threading
from threading import Event

import pytest
from django.test import Client
from pytest_django import Settings

from catalog.embedding import configured_embedder, sentence_transformers_embedder
from catalog.embedding.configured_embedder import answering_embedder
from catalog.embedding.embedder import EmbedderLoading, EmbedderUnavailable
from catalog.embedding.jobs import embed_pending
from catalog.embedding.query_vectors import embed_queries
from catalog.models import Capability, Embedding, EmbeddingModel
from catalog.registration.embedding_models import (
    list_model_progress,
    register_configured_model,
    request_missing_vectors,
    switch_when_complete,
)
from catalog.tasks import sweep_embeddings
from tests.catalog.builders import WordyEmbedder, store, tool
from tests.catalog.conftest import use

pytestmark = pytest.mark.django_db


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """A catalogue embedded by "wordy"; the settings have just changed to "newer"."""
    store(tool("send_email"), tool("read_email"))
    embed_pending()
    settings.PEGBOARD_EMBEDDER = "openai"
    use(WordyEmbedder("newer"), monkeypatch)


def active() -> str:
    return EmbeddingModel.objects.get(active=True).name


def missing() -> WordyEmbedder:
    raise EmbedderUnavailable("the model file is missing")


def test_first_model_answers_from_the_start() -> None:
    store(tool("send_email"))

    assert active() == "wordy"


def test_old_vectors_answer_until_the_new_ones_are_complete(both: None) -> None:
    sweep_embeddings()

    assert active() == "wordy"
    assert embed_queries(["hello"]).model == "wordy"
    assert {model.name: model.pending for model in list_model_progress()} == {
        "wordy": 0,
        "newer": 2,
    }


def test_new_model_answers_once_it_is_complete(both: None) -> None:
    sweep_embeddings()
    embed_pending()
    sweep_embeddings()

    assert active() == "newer"
    assert embed_queries(["hello"]).model == "newer"
    assert Embedding.objects.filter(model__name="wordy", vector__isnull=False).count() == 2


def test_model_is_not_switched_to_while_a_vector_is_missing(both: None) -> None:
    model = register_configured_model()
    assert model is not None
    request_missing_vectors()
    embed_pending()
    store(tool("send_email"), tool("read_email"), tool("one_more"))

    assert not switch_when_complete(model)
    assert active() == "wordy"


def test_going_back_needs_no_embedding(
    both: None, monkeypatch: pytest.MonkeyPatch, settings: Settings, embedder: WordyEmbedder
) -> None:
    sweep_embeddings()
    embed_pending()
    sweep_embeddings()
    settings.PEGBOARD_EMBEDDER = "onnx"
    use(embedder, monkeypatch)
    embedder.texts.clear()

    sweep_embeddings()

    assert (active(), embedder.texts) == ("wordy", [])


def test_model_that_is_named_again_answers_before_any_sweep(
    both: None, monkeypatch: pytest.MonkeyPatch, settings: Settings, embedder: WordyEmbedder
) -> None:
    sweep_embeddings()
    embed_pending()
    sweep_embeddings()
    settings.PEGBOARD_EMBEDDER = "onnx"
    use(embedder, monkeypatch)

    assert (active(), embed_queries(["hello"]).model) == ("newer", "wordy")

    store(tool("send_email"), tool("read_email"), tool("one_more"))
    use(embedder, monkeypatch)
    with pytest.raises(
        EmbedderUnavailable
    ):  # one vector is missing, and no worker here has "newer"
        embed_queries(["hello"])


def test_capability_that_was_stored_without_a_model_is_promised_later(
    monkeypatch: pytest.MonkeyPatch, embedder: WordyEmbedder
) -> None:
    monkeypatch.setitem(
        configured_embedder._providers, "onnx", configured_embedder.LazyEmbedder(missing)
    )
    store(tool("send_email"))
    assert not Embedding.objects.exists()

    use(embedder, monkeypatch)
    sweep_embeddings()

    assert Embedding.objects.get().capability == Capability.objects.get()


def test_shipped_model_answers_while_the_configured_one_cannot_be_made(
    both: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        configured_embedder._providers, "openai", configured_embedder.LazyEmbedder(missing)
    )

    assert embed_queries(["hello"]).model == "wordy"


def test_reason_is_told_where_no_embedder_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        configured_embedder._providers, "onnx", configured_embedder.LazyEmbedder(missing)
    )

    assert configured_embedder.warm_embedder() == "the model file is missing"


def test_failed_provider_is_not_tried_for_each_request(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def counted() -> WordyEmbedder:
        tries.append(1)
        return missing()

    monkeypatch.setitem(
        configured_embedder._providers, "onnx", configured_embedder.LazyEmbedder(counted)
    )

    for _ in range(5):
        configured_embedder.warm_embedder()

    assert len(tries) == 1


def test_query_goes_by_the_configured_model_where_none_is_stored() -> None:
    assert answering_embedder().name == "wordy"


def test_chosen_embedder_that_cannot_load_is_told_though_another_one_answers(
    both: None, monkeypatch: pytest.MonkeyPatch, admin_client: Client
) -> None:
    monkeypatch.setitem(
        configured_embedder._providers, "openai", configured_embedder.LazyEmbedder(missing)
    )

    part = admin_client.get("/readyz").json()["parts"]["model"]
    page = admin_client.get("/integrations/").content.decode()

    assert embed_queries(["hello"]).model == "wordy"
    assert (part["ok"], part["problem"]) == (False, "the model file is missing")
    assert "the model file is missing" in page


def test_requests_go_on_by_words_while_the_model_loads(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, embedder: WordyEmbedder
) -> None:
    store(tool("send_email"))
    monkeypatch.setitem(
        configured_embedder._providers, "onnx", configured_embedder.LazyEmbedder(missing)
    )
    gate = Event()

    def slow() -> WordyEmbedder:
        gate.wait(60)
        return embedder

    settings.PEGBOARD_EMBEDDER = "sentence-transformers"
    provider = configured_embedder.LazyEmbedder(slow)
    monkeypatch.setitem(configured_embedder._providers, "sentence-transformers", provider)
    monkeypatch.setattr(configured_embedder, "_answering", configured_embedder._Answering())

    configured_embedder.start_embedder()
    told = configured_embedder.embedder_problem()
    with pytest.raises(EmbedderLoading):
        embed_queries(["a message that nobody has sent before"])
    gate.set()
    for thread in threading.enumerate():
        if thread.name == "embedder":
            thread.join(60)

    assert told == "The embedding model is loading."
    assert configured_embedder.embedder_problem() == ""
    assert provider.get() is embedder


@pytest.mark.parametrize(
    ("embedder", "model", "told"),
    [
        ("onnx", "", ""),
        ("openai", "small", "PEGBOARD_EMBEDDING_KEY is not set"),
        (
            "sentence-transformers",
            "nobody/has-this-model",
            "neither a folder nor in the local cache",
        ),
        ("sentence-transformers", "no model's name", "neither a folder nor in the local cache"),
        ("sentence-transformers", "", ""),
    ],
)
def test_start_names_what_the_chosen_embedder_lacks(
    embedder: str, model: str, told: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PEGBOARD_EMBEDDER, settings.PEGBOARD_EMBEDDING_MODEL = embedder, model
    monkeypatch.setattr(sentence_transformers_embedder, "find_spec", lambda name: name)
    there = configured_embedder.obvious_embedder_problem()
    monkeypatch.setattr(sentence_transformers_embedder, "find_spec", lambda name: None)
    absent = configured_embedder.obvious_embedder_problem()

    assert told in there
    assert bool(there) == bool(told)
    assert ("is not installed" in absent) == (embedder == "sentence-transformers")
