"""The model with an adapter's changes, in the layout of sentence-transformers: what it loads by the
folder's path are the same weights, in float32."""

import shutil
from pathlib import Path

from safetensors.numpy import save_file

from catalog.embedding.model_conversion import read_weights, source_folder
from catalog.embedding.weight_adapter import Adapter, merged

WEIGHTS_FILE = "model.safetensors"


def write_for_sentence_transformers(target_folder: Path, adapter: Adapter) -> Path:
    """Write it into the folder, which may be there; raises EmbedderUnavailable."""
    source = source_folder()
    weights = merged(read_weights(source / WEIGHTS_FILE), adapter.weights)
    without = shutil.ignore_patterns(WEIGHTS_FILE, "*.py", "__pycache__")
    shutil.copytree(source, target_folder, ignore=without, dirs_exist_ok=True)
    save_file(weights, target_folder / WEIGHTS_FILE, metadata={"format": "pt"})
    return target_folder
