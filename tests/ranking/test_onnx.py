"""The default embedding provider."""

from pathlib import Path

import numpy as np
import pytest

from catalog.embedding import model_conversion
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
