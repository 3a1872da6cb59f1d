"""The shipped model: all-MiniLM-L6-v2 with or, if so configured, without the trained adapter.

Each has its own folder below the same root, so that the previous model keeps answering while the
next one's vectors are built. ONNX Runtime is not imported here: a selection reads the model's
provenance, also in the process that talks to strangers, which embeds nothing.
"""

import json
import shutil
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from safetensors.numpy import save_file

from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.model_conversion import (
    PLAIN,
    RECORD_FILE,
    Adapter,
    apply_adapter,
    convert_model,
    is_converted,
    read_adapter,
    read_weights,
    recorded_name,
    source_folder,
)

# The shipped model's provenance: its adapter's name, the scale of its matches, its training.

PROVENANCE_FILE = Path(__file__).parent / "choosing.json"


@cache
def read_provenance() -> dict[str, Any]:
    """Return the adapter's name, the scale of its matches, and its training record.

    `discovery.select.ranking.fusion` uses the scale. Data, settings and figures are for readers.
    """
    content: dict[str, Any] = json.loads(PROVENANCE_FILE.read_text("utf-8"))
    return content


_HERE = Path(__file__).parent
ADAPTER_FILE = _HERE / "choosing.safetensors"
WEIGHTS_FILE = "model.safetensors"


def model_folder(root: Path, *, trained: bool) -> Path:
    """Return the model's folder below the root."""
    return root / str(read_provenance()["adapter"]) if trained else root


def is_prepared(root: Path, *, trained: bool) -> bool:
    """Return True if the model's files are there and intact."""
    return is_converted(model_folder(root, trained=trained))


def prepare_model(root: Path, *, trained: bool = True) -> Path:
    """Write the model's files unless they are there; return the folder."""
    adapter = read_adapter(ADAPTER_FILE) if trained else PLAIN
    return convert_model(model_folder(root, trained=trained), adapter, root)


def prepared_folder(root: Path, name: str) -> Path | None:
    """Return the folder of the named model, by this or an earlier version, or None."""
    records = (*root.glob(RECORD_FILE), *root.glob(f"*/{RECORD_FILE}"))
    return next((record.parent for record in records if recorded_name(record.parent) == name), None)


def prepare_float32_model(root: Path, *, trained: bool = True) -> Path:
    """Write the shipped model for sentence-transformers unless it is there; return the folder."""
    adapter = read_adapter(ADAPTER_FILE) if trained else PLAIN
    folder = root / (f"{read_provenance()['adapter']}-float32" if trained else "float32")
    if folder.exists():
        return folder
    try:
        root.mkdir(parents=True, exist_ok=True)
        # Several processes may do this at once: the first complete folder wins.
        with TemporaryDirectory(dir=root) as new:
            write_for_sentence_transformers(Path(new) / "model", adapter, root)
            with suppress(OSError):
                (Path(new) / "model").rename(folder)
    except OSError as problem:
        raise EmbedderUnavailable(f"The model cannot be written: {problem}") from problem
    return folder


def write_for_sentence_transformers(
    target_folder: Path, adapter: Adapter, root: Path | None = None
) -> Path:
    """Write the adapted float32 weights in the layout of sentence-transformers.

    Creates the folder; raises EmbedderUnavailable.
    """
    source = source_folder(root)
    weights = apply_adapter(read_weights(source / WEIGHTS_FILE), adapter.weights)
    without = shutil.ignore_patterns(WEIGHTS_FILE, "*.py", "__pycache__")
    shutil.copytree(source, target_folder, ignore=without, dirs_exist_ok=True)
    save_file(weights, target_folder / WEIGHTS_FILE, metadata={"format": "pt"})
    return target_folder
