"""Where the samples are, and small helpers that put sources into a folder."""

from pathlib import Path
from typing import Any

import pytest

from catalog.formats.descriptors import Descriptor, IntegrationDescriptor, Loaded
from catalog.formats.loader import load_path

SAMPLES = Path(__file__).resolve().parent / "samples"
# Real files of the ecosystem, which lie beside the project where it is developed.
SHARED = Path(__file__).resolve().parents[3] / "shared"

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the folder shared beside the project is not here"
)


def write(folder: Path, name: str, content: str | bytes) -> Path:
    """A file with this content, and its folders."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def load(folder: Path, name: str, content: str | bytes, **options: Any) -> Loaded:
    """What a file with this content gives."""
    return load_path(write(folder, name, content), **options)


def capability(loaded: Loaded) -> Descriptor:
    """The one capability that was loaded."""
    (only,) = loaded.capabilities
    return only


def integration(loaded: Loaded) -> IntegrationDescriptor:
    """The one integration that was loaded."""
    (only,) = loaded.integrations
    return only


def reasons(loaded: Loaded) -> list[str]:
    """The faults as a person reads them."""
    return [str(defect) for defect in loaded.defects]
