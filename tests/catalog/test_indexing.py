from collections.abc import Sequence
from datetime import timedelta

import pytest
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.embedding.embedder import TextRefused, Vectors
from catalog.embedding.jobs import (
    CRASHED,
    claim_overdue_capabilities,
    embed_capabilities,
    embed_pending,
    failed_embeddings,
    pending_embeddings,
    record_crashes,
)
from catalog.models import Capability, Embedding
from tests.catalog.builders import AbsentEmbedder, WordyEmbedder, store, tool
from tests.catalog.conftest import use
from tests.catalog.vectors import assert_every_vector_is_of_its_text, ids

pytestmark = pytest.mark.django_db


class ChangingEmbedder(WordyEmbedder):
    """An embedder during whose work another text is imported."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = super().embed(texts)
        if self.calls == 1:
            store(tool("send_email", "A new text."))
        return vectors


def test_every_capability_gets_the_vector_of_its_text() -> None:
    store(*(tool(f"tool_{number}") for number in range(40)))

    written = embed_capabilities(ids())

    assert written == 40
    assert_every_vector_is_of_its_text()


def test_embedding_twice_does_the_work_once(embedder: WordyEmbedder) -> None:
    store(tool("send_email"))

    embed_capabilities(ids())
    again = embed_capabilities(ids())

    assert (again, embedder.calls) == (0, 1)


def test_old_vector_never_lands_on_a_new_text(monkeypatch: pytest.MonkeyPatch) -> None:
    use(ChangingEmbedder(), monkeypatch)
    store(tool("send_email", "An old text."))

    late = embed_capabilities(ids())

    assert late == 0
    assert Embedding.objects.get().vector is None
    assert embed_capabilities(ids()) == 1
    assert_every_vector_is_of_its_text()


@pytest.mark.parametrize("refusal", [ValueError, TextRefused])
@pytest.mark.parametrize("poisoned", [0, 17, 39])
def test_text_that_cannot_be_embedded_blocks_no_other(
    poisoned: int, refusal: type[Exception], embedder: WordyEmbedder
) -> None:
    embedder.refusal = refusal
    names = ["poison" if number == poisoned else f"tool_{number}" for number in range(40)]
    store(*(tool(name) for name in names))

    for _ in range(7):
        embed_capabilities(ids())

    assert pending_embeddings().count() == 0
    row = failed_embeddings().get()
    assert (row.capability.action, row.attempts) == ("poison", 5)
    assert row.failure == "cannot embed poison"
    assert Embedding.objects.filter(vector_hash=F("text_hash")).count() == 39


def test_new_text_gives_what_failed_another_chance() -> None:
    store(tool("send_email", "poison"))
    for _ in range(5):
        embed_capabilities(ids())

    store(tool("send_email", "Sends a letter."))

    assert embed_capabilities(ids()) == 1
    assert_every_vector_is_of_its_text()


def test_absent_provider_leaves_it_pending_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    use(AbsentEmbedder(), monkeypatch)
    store(tool("send_email"))

    for _ in range(7):
        embed_capabilities(ids())

    row = pending_embeddings().get()
    assert (row.attempts, row.failure) == (0, "nobody answers")


def test_what_was_begun_before_is_embedded_alone(embedder: WordyEmbedder) -> None:
    store(*(tool(f"tool_{number}") for number in range(6)))
    Embedding.objects.filter(capability__in=ids()[:2]).update(attempts=1)

    embed_capabilities(ids())

    assert embedder.calls == 3


def test_sweep_takes_only_what_has_waited_long() -> None:
    store(tool("old"), tool("new"))
    old = Capability.objects.get(action="old").pk
    Embedding.objects.filter(capability=old).update(sent_at=Now() - timedelta(minutes=10))

    first, second = claim_overdue_capabilities(100), claim_overdue_capabilities(100)

    assert (first, second) == ([old], [])


def test_reason_is_given_for_what_ended_the_worker() -> None:
    store(tool("deadly"))
    Embedding.objects.update(attempts=5)

    record_crashes()

    assert failed_embeddings().get().failure == CRASHED


def test_progress_is_told() -> None:
    store(*(tool(f"tool_{number}") for number in range(40)))
    steps: list[tuple[int, int]] = []

    embed_pending(progress=lambda done, total: steps.append((done, total)))

    assert steps == [(32, 40), (40, 40)]


VERSIONS = [{name: f"{name}, version {number}." for name in "abcd"} for number in range(3)]


@pytest.fixture
def stored() -> None:
    """Four tools that were changed twice, and changed back."""
    for version in (*VERSIONS, VERSIONS[0]):
        store(*(tool(name, text) for name, text in version.items()))


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_doubled_late_and_shuffled_tasks_end_in_the_same_rows(
    stored: None, data: st.DataObject
) -> None:
    tasks = [[key] for key in ids()] + [ids()]
    events: list[dict[str, str] | list[int]] = data.draw(
        st.permutations([*tasks, *tasks, *VERSIONS])
    )

    with transaction.atomic():
        for event in events:
            if isinstance(event, dict):
                store(*(tool(name, text) for name, text in event.items()))
            else:
                embed_capabilities(event)
        embed_pending()

        assert Embedding.objects.count() == 4
        assert_every_vector_is_of_its_text()
        transaction.set_rollback(True)
