import pytest
from pytest_django import Settings

from catalog.embedding import configured_embedder
from catalog.embedding.configured_embedder import answering_embedder
from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.embedding_jobs import embed_pending
from catalog.embedding.model_list import ModelIsActiveError, list_model_progress, remove_model
from catalog.embedding.model_switch import (
    register_configured_model,
    request_missing_vectors,
    switch_when_complete,
)
from catalog.embedding.query_vectors import embed_queries
from catalog.models import Capability, Embedding, EmbeddingModel
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


def test_model_that_answers_cannot_be_given_up(both: None) -> None:
    sweep_embeddings()

    remove_model(name="newer", by=None)

    with pytest.raises(ModelIsActiveError):
        remove_model(name="wordy", by=None)
    assert list(EmbeddingModel.objects.values_list("name", flat=True)) == ["wordy"]


def test_query_goes_by_the_configured_model_where_none_is_stored() -> None:
    assert answering_embedder().name == "wordy"
