"""Source archives for an index in a folder, and this environment's build backend as a wheel."""

import hashlib
import importlib.metadata
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

PLAIN = """
from setuptools import setup
setup(name={name!r}, version={version!r}, py_modules=[{module!r}])
"""


def add_sdist(
    folder: Path, name: str, version: str, files: Mapping[str, str], *, setup: str = PLAIN
) -> str:
    """Add a source archive of these files; return its digest."""
    stem, module = f"{name.replace('-', '_')}-{version}", name.replace("-", "_")
    program = setup.format(name=name, version=version, module=module) if setup == PLAIN else setup
    about = f"Metadata-Version: 1.0\nName: {name}\nVersion: {version}\n"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, text in {"setup.py": program, "PKG-INFO": about, **files}.items():
            member = tarfile.TarInfo(f"{stem}/{path}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    folder.mkdir(exist_ok=True)
    (folder / f"{stem}.tar.gz").write_bytes(packed.getvalue())
    return f"sha256:{hashlib.sha256(packed.getvalue()).hexdigest()}"


def add_backend(folder: Path) -> str:
    """Add the installed setuptools as a wheel; return the line that pins it."""
    found = importlib.metadata.distribution("setuptools")
    names = [one for one in found.files or () if "__pycache__" not in one.parts]
    texts = {str(one): Path(str(one.locate())).read_bytes() for one in names}
    record = next(name for name in texts if name.endswith("/RECORD"))
    lines = [line for line in texts[record].decode().splitlines() if "__pycache__" not in line]
    texts[record] = "\n".join(lines).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as wheel:
        for name, content in texts.items():
            wheel.writestr(name, content)
    folder.mkdir(exist_ok=True)
    (folder / f"setuptools-{found.version}-py3-none-any.whl").write_bytes(packed.getvalue())
    digest = hashlib.sha256(packed.getvalue()).hexdigest()
    return f"setuptools=={found.version} --hash=sha256:{digest}"
