"""The adapter: the changes of a training, compressed, and applied to the weights."""

from pathlib import Path

import numpy as np
import pytest

from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.weight_adapter import (
    DOWN,
    UP,
    apply_adapter,
    read_adapter,
    write_adapter,
)

dice = np.random.default_rng(7)
MATRIX, VECTOR = "encoder.layer.0.dense.weight", "encoder.layer.0.dense.bias"
BASE = {
    "embeddings.word_embeddings.weight": dice.normal(size=(30, 8)),
    MATRIX: dice.normal(size=(12, 8)),
    VECTOR: dice.normal(size=12),
}
ADAPTER = {
    MATRIX + DOWN: np.ones((1, 8), np.float16),
    MATRIX + UP: np.full((12, 1), 0.5, np.float16),
    VECTOR + ".whole": np.full(12, 0.25, np.float16),
}


def test_matrix_changes_by_the_product_of_its_factors() -> None:
    after = apply_adapter(BASE, ADAPTER)

    np.testing.assert_allclose(after[MATRIX], BASE[MATRIX] + 0.5)


def test_vectors_are_kept_whole_and_the_rest_is_left_alone() -> None:
    after = apply_adapter(BASE, ADAPTER)

    table = "embeddings.word_embeddings.weight"
    np.testing.assert_allclose(after[VECTOR], BASE[VECTOR] + 0.25)
    assert np.array_equal(after[table], BASE[table])


def test_file_gives_back_what_was_stored_and_is_named_by_it(tmp_path: Path) -> None:
    name = write_adapter(tmp_path / "a.safetensors", ADAPTER)
    read, read_name = read_adapter(tmp_path / "a.safetensors")

    assert read_name == name
    assert {key: part.tolist() for key, part in read.items()} == {
        key: part.tolist() for key, part in ADAPTER.items()
    }


@pytest.mark.parametrize("content", [b"", b"{}", b"\x08\0\0\0\0\0\0\0nonsense"])
def test_damaged_file_is_told(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(content)

    with pytest.raises(EmbedderUnavailable, match=r"a\.safetensors cannot be read"):
        read_adapter(tmp_path / "a.safetensors")


def test_adapter_of_another_model_is_refused() -> None:
    other = {"other.weight" + DOWN: np.ones((1, 4)), "other.weight" + UP: np.ones((4, 1))}

    with pytest.raises(EmbedderUnavailable, match=r"other\.weight"):
        apply_adapter(BASE, other)
