"""The shipped model matches its provenance.

tests/ranking compares it with sentence-transformers.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from django.test import override_settings

from catalog.embedding import configured_embedder
from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.model_conversion import MODEL_FILE, model_name
from catalog.embedding.onnx_embedder import OnnxEmbedder
from catalog.embedding.shipped_model import (
    ADAPTER_FILE,
    is_prepared,
    model_folder,
    prepare_model,
    prepared_folder,
    read_provenance,
)
from catalog.embedding.weight_adapter import PLAIN, adapter_name, read_adapter
from discovery.select.ranking.scales import GENERAL, scale_of, shipped_scale
from tests.ranking.tool_texts import MESSAGES

SMALL = 2 * 1024 * 1024


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both models, as in an install that has switched."""
    root = tmp_path_factory.mktemp("models")
    prepare_model(root, trained=False)
    prepare_model(root)
    return root


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch, root: Path) -> Iterator[None]:
    """The providers of a fresh process, with these models."""
    monkeypatch.setitem(
        configured_embedder._providers,
        "onnx",
        configured_embedder.LazyEmbedder(configured_embedder._onnx),
    )
    monkeypatch.setattr(configured_embedder, "_earlier", {})
    with override_settings(PEGBOARD_MODEL_DIR=root, PEGBOARD_TRAINED_ENCODER=True):
        yield


def test_adapter_is_small_and_the_one_that_is_written_of() -> None:
    content = ADAPTER_FILE.read_bytes()

    assert len(content) <= SMALL
    assert adapter_name(content) == read_provenance()["adapter"]
    assert {"base", "recipe", "sets", "made with", "scale", "left out", "reliability"} <= set(
        read_provenance()
    )
    assert all(each["source"] and each["sha256"] for each in read_provenance()["sets"])


def test_adapter_changes_the_layers_and_nothing_else() -> None:
    weights = read_adapter(ADAPTER_FILE).weights

    assert all(name.startswith("encoder.layer.") for name in weights)
    assert all(np.isfinite(values.astype(np.float32)).all() for values in weights.values())


def test_graph_of_both_is_the_same_size(root: Path) -> None:
    sizes = [
        (model_folder(root, trained=each) / MODEL_FILE).stat().st_size for each in (False, True)
    ]

    assert sizes[0] == sizes[1]


def test_name_tells_the_model_apart_and_has_its_scale(root: Path) -> None:
    plain, trained = (OnnxEmbedder(model_folder(root, trained=each)) for each in (False, True))

    assert plain.name == model_name(PLAIN.name)
    assert trained.name == model_name(read_provenance()["adapter"])
    assert scale_of(trained.name) == shipped_scale()
    assert scale_of(plain.name) == scale_of("") == GENERAL
    assert (plain.embed(MESSAGES) * trained.embed(MESSAGES)).sum(axis=1).max() < 0.999


def test_both_are_found_and_a_missing_one_is_made(root: Path, tmp_path: Path) -> None:
    for trained in (False, True):
        folder = model_folder(root, trained=trained)
        assert prepared_folder(root, OnnxEmbedder(folder).name) == folder
    assert prepared_folder(root, "another") is None
    assert is_prepared(root, trained=True)
    assert not is_prepared(tmp_path, trained=True)


@pytest.mark.usefixtures("shipped")
def test_setting_chooses_and_the_other_still_answers_for_its_vectors() -> None:
    trained, plain = model_name(read_provenance()["adapter"]), model_name()

    assert configured_embedder.configured_embedder_name() == trained
    assert configured_embedder.embedder_for(plain).name == plain
    with pytest.raises(EmbedderUnavailable, match="but the settings name"):
        configured_embedder.embedder_for("someone-elses-model")


@pytest.mark.usefixtures("shipped")
def test_switched_off_the_model_is_as_its_makers_left_it() -> None:
    with override_settings(PEGBOARD_TRAINED_ENCODER=False):
        assert configured_embedder.configured_embedder_name() == model_name()
        assert configured_embedder.embedder_for(
            model_name(read_provenance()["adapter"])
        ).name.endswith(read_provenance()["adapter"])
