"""The shipped model: all-MiniLM-L6-v2 with or, if so configured, without the trained adapter.

Each has its own folder below the same root, so that the previous model keeps answering while the
next one's vectors are built.
"""

from pathlib import Path

from catalog.embedding.model_conversion import (
    RECORD_FILE,
    convert_model,
    is_converted,
    recorded_name,
)
from catalog.embedding.provenance import ADAPTER_FILE, provenance
from catalog.embedding.weight_adapter import PLAIN, read_adapter


def model_folder(root: Path, *, trained: bool) -> Path:
    """Return the model's folder below the root."""
    return root / str(provenance()["adapter"]) if trained else root


def is_prepared(root: Path, *, trained: bool) -> bool:
    """Return True if the model's files are there and intact."""
    return is_converted(model_folder(root, trained=trained))


def prepare_model(root: Path, *, trained: bool = True) -> Path:
    """Write the model's files unless they are there; return the folder."""
    adapter = read_adapter(ADAPTER_FILE) if trained else PLAIN
    return convert_model(model_folder(root, trained=trained), adapter)


def prepared_folder(root: Path, name: str) -> Path | None:
    """Return the folder of the named model, by this or an earlier version, or None."""
    records = (*root.glob(RECORD_FILE), *root.glob(f"*/{RECORD_FILE}"))
    return next((each.parent for each in records if recorded_name(each.parent) == name), None)
