"""Catalogues of translated texts, compiled for gettext. Only their sources are committed."""

from pathlib import Path
from tempfile import NamedTemporaryFile

import polib

CATALOGUES = Path(__file__).resolve().parents[2] / "locale"


def compile_catalogues(catalogues: Path) -> None:
    """Compile each catalogue that is newer than its `.mo`, the file that gettext reads.

    Two processes may do so at once: each puts a whole file in its place.
    """
    for source in catalogues.glob("*/LC_MESSAGES/django.po"):
        compiled = source.with_suffix(".mo")
        if not compiled.exists() or compiled.stat().st_mtime_ns < source.stat().st_mtime_ns:
            with NamedTemporaryFile(dir=compiled.parent, suffix=".new", delete=False) as file:
                file.write(polib.pofile(str(source)).to_binary())
            Path(file.name).chmod(0o644)  # a temporary file is its owner's alone
            Path(file.name).replace(compiled)
