"""The model that comes with the install: all-MiniLM-L6-v2 with what training changed in it, or
without, where the settings say so.

Each has a folder of its own below the same root, so that the one before goes on answering while the
vectors of the next are being built.
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
    """Where below the root the model's files belong."""
    return root / str(provenance()["adapter"]) if trained else root


def is_prepared(root: Path, *, trained: bool) -> bool:
    """Whether its files are there and intact."""
    return is_converted(model_folder(root, trained=trained))


def prepare_model(root: Path, *, trained: bool = True) -> Path:
    """Write the model's files where they belong, unless they are there; the folder."""
    adapter = read_adapter(ADAPTER_FILE) if trained else PLAIN
    return convert_model(model_folder(root, trained=trained), adapter)


def prepared_folder(root: Path, name: str) -> Path | None:
    """Where below the root the model of that name is, of this version of Pegboard or an earlier
    one."""
    records = (*root.glob(RECORD_FILE), *root.glob(f"*/{RECORD_FILE}"))
    return next((each.parent for each in records if recorded_name(each.parent) == name), None)
