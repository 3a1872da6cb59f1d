"""The adapter: the changes of a training, compressed, and applied to the weights."""

from pathlib import Path

import numpy as np
import pytest

from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.weight_adapter import (
    apply_adapter,
    compute_adapter,
    read_adapter,
    write_adapter,
)

dice = np.random.default_rng(7)
BASE = {
    "embeddings.word_embeddings.weight": dice.normal(size=(30, 8)),
    "encoder.layer.0.dense.weight": dice.normal(size=(12, 8)),
    "encoder.layer.0.dense.bias": dice.normal(size=12),
}
THIN = np.outer(np.arange(12), np.arange(8)) / 50


def test_change_of_low_rank_survives_whole() -> None:
    trained = BASE | {"encoder.layer.0.dense.weight": BASE["encoder.layer.0.dense.weight"] + THIN}

    after = apply_adapter(BASE, compute_adapter(BASE, trained, rank=1))

    np.testing.assert_allclose(
        after["encoder.layer.0.dense.weight"], trained["encoder.layer.0.dense.weight"], atol=2e-3
    )


def test_more_rank_keeps_more_of_a_change() -> None:
    change = dice.normal(size=(12, 8))
    name = "encoder.layer.0.dense.weight"
    trained = BASE | {name: BASE[name] + change}

    left_out = [
        np.linalg.norm(
            apply_adapter(BASE, compute_adapter(BASE, trained, rank=rank))[name] - trained[name]
        )
        for rank in (1, 4, 8)
    ]

    assert left_out == sorted(left_out, reverse=True)
    assert left_out[-1] < 0.05


def test_vectors_are_kept_whole_and_the_token_table_is_left_alone() -> None:
    trained = {name: weights + 0.25 for name, weights in BASE.items()}

    after = apply_adapter(BASE, compute_adapter(BASE, trained))

    assert np.array_equal(
        after["embeddings.word_embeddings.weight"], BASE["embeddings.word_embeddings.weight"]
    )
    np.testing.assert_allclose(
        after["encoder.layer.0.dense.bias"], trained["encoder.layer.0.dense.bias"], atol=1e-3
    )


def test_file_gives_back_what_was_stored_and_is_named_by_it(tmp_path: Path) -> None:
    adapter = compute_adapter(BASE, BASE | {"encoder.layer.0.dense.bias": np.zeros(12)})

    name = write_adapter(tmp_path / "a.safetensors", adapter)
    read, read_name = read_adapter(tmp_path / "a.safetensors")

    assert read_name == name
    assert {key: part.tolist() for key, part in read.items()} == {
        key: part.tolist() for key, part in adapter.items()
    }


@pytest.mark.parametrize("content", [b"", b"{}", b"\x08\0\0\0\0\0\0\0nonsense"])
def test_damaged_file_is_told(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(content)

    with pytest.raises(EmbedderUnavailable, match=r"a\.safetensors cannot be read"):
        read_adapter(tmp_path / "a.safetensors")


def test_adapter_of_another_model_is_refused() -> None:
    other = compute_adapter({"other.weight": np.zeros((4, 4))}, {"other.weight": np.ones((4, 4))})

    with pytest.raises(EmbedderUnavailable, match=r"other\.weight"):
        apply_adapter(BASE, other)
