"""Front doors of packages: an import contract for import-linter.

A package below an app names in `__all__` of its `__init__` the modules that others may import. All
other modules are private.
"""

import ast
from pathlib import Path

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output

ROOT = Path(__file__).resolve().parents[1]
# Django loads their modules by itself; models are re-exported by their package.
_EXEMPT = {"admin", "config", "management", "migrations", "models", "templatetags"}


class FrontDoorContract(Contract):
    """Contract: refuse imports of modules that their package does not name in `__all__`."""

    type_name = "front_door"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        doors = {
            package: named_in(package) for package in sorted(graph.modules) if is_room(package)
        }
        broken = [
            (importer, module)
            for package, named in doors.items()
            for module in sorted(graph.find_children(package))
            if module.rpartition(".")[2] not in named
            for importer in sorted(importers_from_outside(graph, module, package))
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, module in check.metadata["broken"]:
            output.print_error(f"{importer} imports {module}, which its package keeps to itself")


def is_room(package: str) -> bool:
    """Return True for a package below an app whose modules are imported explicitly."""
    parts = package.split(".")
    return len(parts) > 1 and door_of(package).is_file() and not _EXEMPT & set(parts)


def door_of(package: str) -> Path:
    """Return the file of a package's `__init__`, without importing it, which needs settings."""
    return ROOT.joinpath(*package.split("."), "__init__.py")


def named_in(package: str) -> set[str]:
    """Return the names in a package's `__all__`."""
    for node in ast.parse(door_of(package).read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def importers_from_outside(graph: ImportGraph, module: str, package: str) -> set[str]:
    """Return the outside modules that import one of the package, or of a package below it."""
    inside = {module, *graph.find_descendants(module)}
    importers = {who for one in inside for who in graph.find_modules_that_directly_import(one)}
    return {who for who in importers if who != package and not who.startswith(f"{package}.")}
