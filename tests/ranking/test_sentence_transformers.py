"""The ONNX path against sentence-transformers as reference, with the same trained weights."""

import importlib
import json
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from pytest_django.fixtures import Settings

from catalog.embedding import configured_embedder, model_conversion
from catalog.embedding.embedder import Embedder, EmbedderUnavailable
from catalog.embedding.model_conversion import read_adapter
from catalog.embedding.onnx_embedder import OnnxEmbedder
from catalog.embedding.sentence_transformers_embedder import SentenceTransformersEmbedder
from catalog.embedding.shipped_model import ADAPTER_FILE, write_for_sentence_transformers
from tests.ranking.conftest import SHARED_SETS
from tests.ranking.tool_texts import MESSAGES, TOOL_TEXTS

# torch and its dependencies deprecate parts of each other.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.reference]


@pytest.fixture(scope="module", autouse=True)
def _extra() -> None:
    """Imported here: it takes seconds, which other test processes are spared."""
    # Without torch's CPU build for this Python, the other one lacks its libraries.
    missing = "the extra is not installed, or its torch cannot run here"
    pytest.importorskip("sentence_transformers", reason=missing, exc_type=ImportError)
    # With several threads they spin while waiting, which slows other tests down.
    importlib.import_module("torch").set_num_threads(1)


@pytest.fixture(scope="module")
def reference(
    _extra: None, tmp_path_factory: pytest.TempPathFactory
) -> SentenceTransformersEmbedder:
    folder = tmp_path_factory.mktemp("exact")
    write_for_sentence_transformers(folder, read_adapter(ADAPTER_FILE))
    return SentenceTransformersEmbedder(str(folder))


def test_vectors_agree(embedder: OnnxEmbedder, reference: SentenceTransformersEmbedder) -> None:
    texts = (*TOOL_TEXTS, *MESSAGES)

    cosines = (embedder.embed(texts) * reference.embed(texts)).sum(axis=1)

    assert reference.dimension == embedder.dimension
    assert cosines.mean() > 0.99
    assert cosines.min() > 0.97


def test_training_shows_in_both(
    embedder: OnnxEmbedder, reference: SentenceTransformersEmbedder, tmp_path: Path
) -> None:
    plain = OnnxEmbedder(model_conversion.convert_model(tmp_path))

    exact = reference.embed(MESSAGES)
    trained, untrained = ((each.embed(MESSAGES) * exact).sum() for each in (embedder, plain))

    assert untrained < trained - 0.02 * len(MESSAGES)


def test_answers_agree(embedder: OnnxEmbedder, reference: SentenceTransformersEmbedder) -> None:
    right = np.arange(len(MESSAGES))[:, None]

    ours, theirs = (
        (_ranked(each, MESSAGES, TOOL_TEXTS)[:, :5] == right).any(axis=1).mean()
        for each in (embedder, reference)
    )

    assert ours == pytest.approx(theirs, abs=1.01 / len(MESSAGES))
    assert ours > 0.85


@pytest.mark.skipif(not SHARED_SETS.is_dir(), reason="no labelled sets beside the project")
def test_recall_agrees_on_a_labelled_set(
    embedder: OnnxEmbedder, reference: SentenceTransformersEmbedder
) -> None:
    texts, messages, right = _labelled_set(SHARED_SETS / "metatool")

    recalls = [
        np.mean([bool(relevant & set(row)) for row, relevant in zip(ranked, right, strict=True)])
        for ranked in (_ranked(each, messages, texts)[:, :5] for each in (embedder, reference))
    ]

    assert recalls[0] == pytest.approx(recalls[1], abs=0.01)


def test_model_that_is_not_there_is_told_and_not_fetched() -> None:
    with pytest.raises(EmbedderUnavailable, match="cannot be loaded"):
        SentenceTransformersEmbedder("no-such/model-anywhere")


def _ranked(
    embedder: Embedder, messages: tuple[str, ...], texts: tuple[str, ...]
) -> npt.NDArray[np.int64]:
    return np.argsort(-embedder.embed(messages) @ embedder.embed(texts).T, axis=1)


def _labelled_set(folder: Path) -> tuple[tuple[str, ...], tuple[str, ...], list[set[int]]]:
    tools = [
        json.loads(line)
        for line in (folder / "catalog.jsonl").read_text("utf-8").split("\n")
        if line
    ]
    lines = (folder / "queries.jsonl").read_text("utf-8").splitlines()[:500]
    queries = [json.loads(line) for line in lines]
    places = {tool["id"]: place for place, tool in enumerate(tools)}
    return (
        tuple(f"{tool['name']}: {tool['description']}" for tool in tools),
        tuple(query["query"] for query in queries),
        [{places[identifier] for identifier in query["relevant"]} for query in queries],
    )


def test_without_a_name_the_shipped_model_is_used(
    reference: SentenceTransformersEmbedder, settings: Settings, tmp_path: Path
) -> None:
    settings.PEGBOARD_EMBEDDER, settings.PEGBOARD_EMBEDDING_MODEL = "sentence-transformers", ""
    settings.PEGBOARD_MODEL_DIR, settings.PEGBOARD_TRAINED_ENCODER = tmp_path, True

    first, second = (configured_embedder._sentence_transformers() for _ in range(2))

    assert first.name == second.name
    assert first.name.endswith("-float32-" + reference.name.rpartition("-")[2])
    assert [path.name.endswith("-float32") for path in tmp_path.iterdir()] == [True]


def test_operators_list_has_the_tested_versions() -> None:
    root = Path(__file__).parents[2]
    wanted, ours, tested = (
        _pins(root / path)
        for path in (
            "docker/sentence-transformers.lock",
            "requirements.lock",
            "tests/sentence-transformers.txt",
        )
    )
    tested |= _pins(root / "tests/requirements.lock")

    assert wanted == {name: tested[name] for name in wanted}
    assert not wanted.keys() & ours.keys()
    assert set(_pins(root / "tests/sentence-transformers.txt")) <= wanted.keys() | ours.keys()


def test_operators_list_has_a_hash_for_each_package() -> None:
    text = (Path(__file__).parents[2] / "docker/sentence-transformers.lock").read_text("utf-8")

    pinned = re.findall(r"^\S+==\S+ (\\\n +--hash=sha256:[0-9a-f]{64})?", text, re.M)

    assert len(pinned) == text.count("==") > 10
    assert all(pinned)


def _pins(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9][\w.-]*)==([^\s;]+)", path.read_text("utf-8"), re.M))
