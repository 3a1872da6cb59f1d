"""sentence-transformers reads the same weights as the product, adapter included."""

from pathlib import Path

import numpy as np
import pytest

from catalog.embedding.adapter import PLAIN, read_adapter, write_adapter
from catalog.embedding.convert import convert_model, model_name
from catalog.embedding.export import write_for_sentence_transformers
from catalog.embedding.onnx import OnnxEmbedder
from catalog.embedding.sentence_transformers import SentenceTransformersEmbedder
from tests.ranking.tool_texts import MESSAGES, TOOL_TEXTS

pytestmark = pytest.mark.filterwarnings("ignore")  # torch and its friends deprecate one another


@pytest.fixture(autouse=True)
def _extra() -> None:
    """Loaded here and not above: that takes seconds, which other processes are spared."""
    pytest.importorskip("sentence_transformers", reason="the extra is not installed")


def test_both_say_the_same_and_not_what_the_base_model_says(tmp_path: Path) -> None:
    dice = np.random.default_rng(3)
    name = "encoder.layer.5.output.dense.weight"
    thin = {
        f"{name}.down": dice.normal(scale=0.1, size=(4, 1536)).astype(np.float16),
        f"{name}.up": dice.normal(scale=0.1, size=(384, 4)).astype(np.float16),
    }
    write_adapter(tmp_path / "a.safetensors", thin)
    adapter = read_adapter(tmp_path / "a.safetensors")
    ours = OnnxEmbedder(convert_model(tmp_path / "ours", adapter))
    plain = OnnxEmbedder(convert_model(tmp_path / "plain", PLAIN))
    folder = write_for_sentence_transformers(tmp_path / "theirs", adapter)
    texts = (*TOOL_TEXTS, *MESSAGES)

    mine, theirs = ours.embed(texts), SentenceTransformersEmbedder(str(folder)).embed(texts)

    agreement = (mine * theirs).sum(axis=1)
    assert agreement.mean() > 0.99
    assert (plain.embed(texts) * theirs).sum(axis=1).mean() < agreement.mean() - 0.02
    assert (ours.name, plain.name) == (model_name(adapter.name), model_name())
