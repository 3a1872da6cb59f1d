"""Unpacks npm's tarballs, in a cell without a network. Standard library only; runs as `python -c`.

Reads a plan of [file, digest, folder, programs] and writes plain files and folders below the
package's folder. Links inside tarballs are left out, as npm leaves them out.
"""

import gzip
import hashlib
import json
import os
import sys
import tarfile

_BLOCK = 1024 * 1024


def main(folder: str, plan: str) -> None:
    """Unpack what the plan names below the folder."""
    with open(plan, encoding="utf-8") as file:  # noqa: PTH123 - one import less at each start
        steps = json.load(file)
    for tarball, digest, where, programs in steps:
        check(tarball, digest)
        unpack(tarball, os.path.join(folder, where))  # noqa: PTH118 - quicker for 10,000 files
        link_programs(os.path.join(folder, where), programs)  # noqa: PTH118


def check(tarball: str, digest: str) -> None:
    """End the program unless the file has this digest."""
    algorithm, _, value = digest.partition(":")
    with open(tarball, "rb") as file:  # noqa: PTH123
        if hashlib.file_digest(file, algorithm).hexdigest() != value:
            sys.exit(f"EINTEGRITY {tarball}")


def unpack(tarball: str, folder: str) -> None:
    """Write the plain files of a tarball, without its first folder."""
    parents: set[str] = set()
    with gzip.open(tarball) as plain, tarfile.open(fileobj=plain, mode="r|") as archive:
        for member in archive:
            parts = [part for part in member.name.split("/") if part not in ("", ".")][1:]
            content = archive.extractfile(member) if member.isreg() and parts else None
            if content is None or ".." in parts or "\0" in member.name:
                continue
            path = os.path.join(folder, *parts)  # noqa: PTH118
            parent = os.path.dirname(path)  # noqa: PTH120
            if parent not in parents:
                os.makedirs(parent, exist_ok=True)  # noqa: PTH103
                parents.add(parent)
            write(path, content, 0o755 if member.mode & 0o111 else 0o644)


def write(path: str, content, mode: int) -> None:  # type: ignore[no-untyped-def]
    """Write a file. Nothing below the folder is a link yet, but for programs of other packages."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    file = os.open(path, flags, mode)
    try:
        while block := content.read(_BLOCK):
            os.write(file, block)
    finally:
        os.close(file)


def link_programs(folder: str, programs: dict[str, str]) -> None:
    """Link a package's programs into `.bin` beside it, as npm does."""
    for name, target in programs.items():
        path = os.path.realpath(os.path.join(folder, target))  # noqa: PTH118
        if not path.startswith(os.path.realpath(folder) + "/") or not os.path.isfile(path):  # noqa: PTH113
            continue
        os.chmod(path, 0o755)  # noqa: PTH101, S103 - a program, in the package's own folder
        beside = folder[: folder.rindex("node_modules/")] + "node_modules/.bin"
        os.makedirs(beside, exist_ok=True)  # noqa: PTH103
        link = os.path.join(beside, name)  # noqa: PTH118
        if not os.path.lexists(link):
            os.symlink(os.path.relpath(path, beside), link)  # noqa: PTH211


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
