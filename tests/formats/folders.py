"""Locations of the samples, and helpers that write sources."""

from pathlib import Path
from typing import Any

import pytest

from catalog.formats.descriptors import Descriptor, IntegrationDescriptor, Loaded
from catalog.formats.loader import load_path

SAMPLES = Path(__file__).resolve().parent / "samples"
# Real third-party files, which lie beside the project on development machines.
SHARED = Path(__file__).resolve().parents[3] / "shared"

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the folder shared beside the project is not here"
)


def write(folder: Path, name: str, content: str | bytes) -> Path:
    """Write a file with this content, creating its folders."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def load(folder: Path, name: str, content: str | bytes, **options: Any) -> Loaded:
    """Load a file with this content."""
    return load_path(write(folder, name, content), **options)


def capability(loaded: Loaded) -> Descriptor:
    """Return the only capability loaded."""
    (only,) = loaded.capabilities
    return only


def integration(loaded: Loaded) -> IntegrationDescriptor:
    """Return the only integration loaded."""
    (only,) = loaded.integrations
    return only


def reasons(loaded: Loaded) -> list[str]:
    """Return the faults as text."""
    return [str(defect) for defect in loaded.defects]
