"""MCP bundles for Python: an environment of their own, with the bundle's folders on its path.

The bundle's libraries stay where they are. Where it has none but names some, uv installs them from
the index like those of any package.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catalog.formats.files import RefusedError
from catalog.formats.mcpb import launch_arguments, python_runtime
from catalog.formats.mcpb_python import LONGEST_PROJECT, PROJECT, Project, read_project
from catalog.formats.package_names import Package
from marketplace.installs.packages.package_client import Watch
from marketplace.installs.packages.package_folders import Place
from marketplace.installs.packages.package_result import Artefact, Installed, PackageProblemError
from marketplace.installs.packages.pypi import install_requirements
from marketplace.installs.packages.python_versions import find_python, own_version
from marketplace.installs.packages.uv_client import bin_of, make_environment, version_of

# Compiled modules say for which Python and system they are: `fast.cpython-312-x86_64-linux-gnu.so`.
_COMPILED = re.compile(r"(?P<stem>.+?)\.cpython-3(?P<minor>\d{1,2})\w*-(?P<system>[\w-]+)\.so")


@dataclass(frozen=True, slots=True)
class Held:
    """Files of an earlier installation, which are installed again."""

    artefacts: Sequence[Artefact] = ()
    built: Mapping[str, str] | None = None
    python: str = ""


def install_python(
    manifest: Any, folder: Path, package: Package, place: Place, watch: Watch, held: Held
) -> Installed:
    """Make the environment of a bundle that is unpacked in `folder`."""
    runtime = python_runtime(manifest)
    libraries = [folder / one for one in runtime.libraries if (folder / one).is_dir()]
    project = Project() if libraries and not runtime.is_uv else _project(folder)
    allowed = ",".join(filter(None, (runtime.python, project.python)))
    python = held.python or _choose_python(folder, allowed)
    make_environment(package, place, watch, python)
    found: list[Artefact] = []
    built: dict[str, str] = {}
    if project.requirements:
        own = [one for one in held.artefacts if one.name != package.name]
        found, built = install_requirements(
            project.requirements, place, watch, held=own, built=held.built
        )
    arguments = launch_arguments(manifest, str(folder))
    _add_paths(place, [*libraries, *_own_folders(folder, arguments)])
    return Installed(
        (str(bin_of(place) / "python"), "-I", "-B", *arguments, *package.arguments),
        (Artefact(package.name, package.version, f"sha256:{package.version}"), *found),
        python=".".join(map(str, version_of(place))),
        built=built,
    )


def _project(folder: Path) -> Project:
    path = folder / PROJECT
    if not path.is_file():
        return Project()
    if path.stat().st_size > LONGEST_PROJECT:
        raise RefusedError(f"has no usable {PROJECT}")
    return read_project(path.read_text(encoding="utf-8", errors="replace"))


def _choose_python(folder: Path, allowed: str) -> str:
    """Return the specifier of a Python here that the bundle allows, and its compiled parts fit."""
    minors = _compiled_for(folder)
    wanted = [f"{allowed},==3.{minor}.*".strip(",") for minor in minors] or [allowed]
    found = next((one for one in wanted if find_python(one) is not None), None)
    if found is None:
        needs = " or ".join(f"3.{minor}" for minor in minors) if minors else allowed
        words = f"It requires Python {needs}. This is {own_version()}."
        raise PackageProblemError("client_missing", words)
    return found


def _compiled_for(folder: Path) -> list[int]:
    """Return the minor versions of Python that all compiled modules fit, our own first; none if
    there are no such modules.
    """
    by_module: dict[str, set[int]] = {}
    elsewhere: set[str] = set()
    for path in (*folder.rglob("*.so"), *folder.rglob("*.pyd")):
        match = _COMPILED.fullmatch(path.name)
        if match is None:
            continue
        module = str(path.parent / match["stem"])
        if "linux" in match["system"]:
            by_module.setdefault(module, set()).add(int(match["minor"]))
        else:
            elsewhere.add(module)
    if missing := elsewhere - by_module.keys():
        name = Path(min(missing)).name
        raise RefusedError(f"has parts that were compiled for another system ({name[:100]})")
    common = set.intersection(*by_module.values()) if by_module else set()
    if by_module and not common:
        raise RefusedError("has parts that were compiled for different versions of Python")
    own = int(own_version().partition(".")[2])
    return sorted(common, key=lambda minor: (minor != own, minor))


def _own_folders(folder: Path, arguments: Sequence[str]) -> list[Path]:
    """Return the folders of the bundle's own modules: its program's, and those above."""
    file = Path(arguments[0])
    beside = [file.parent] if file.is_absolute() else []
    return [*beside, folder / "src", folder / "server", folder]


def _add_paths(place: Place, folders: Iterable[Path]) -> None:
    """Name folders in a file that Python reads at its start. `PYTHONPATH` would be ignored."""
    [packages] = place.folder.glob("lib/python3.*/site-packages")
    inside = place.folder.resolve()
    real = [one for one in dict.fromkeys(folders) if one.resolve().is_relative_to(inside)]
    with (packages / "bundle.pth").open("x", encoding="utf-8") as file:
        file.writelines(f"{one}\n" for one in real if one.is_dir() and "\n" not in str(one))
