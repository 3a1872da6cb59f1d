"""Export of the adapted model as float32 weights in the layout of sentence-transformers."""

import shutil
from pathlib import Path

from safetensors.numpy import save_file

from catalog.embedding.model_conversion import read_weights, source_folder
from catalog.embedding.weight_adapter import Adapter, apply_adapter

WEIGHTS_FILE = "model.safetensors"


def write_for_sentence_transformers(target_folder: Path, adapter: Adapter) -> Path:
    """Write the adapted model into the folder, creating it; raise EmbedderUnavailable."""
    source = source_folder()
    weights = apply_adapter(read_weights(source / WEIGHTS_FILE), adapter.weights)
    without = shutil.ignore_patterns(WEIGHTS_FILE, "*.py", "__pycache__")
    shutil.copytree(source, target_folder, ignore=without, dirs_exist_ok=True)
    save_file(weights, target_folder / WEIGHTS_FILE, metadata={"format": "pt"})
    return target_folder
