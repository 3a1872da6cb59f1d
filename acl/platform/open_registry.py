"""Open registries: a package with one module for each member, found by being there.

A new member is a new file in the shape of its neighbours; nothing lists it.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType

# Modules that members share, and the registry itself.
_SHARED = {"base", "registry"}


def modules_of(package: str) -> dict[str, ModuleType]:
    """Import the members of a package; return them by name, in the order of their files.

    A member is named after its file, unless it has a `NAME`. Modules that begin with an underscore
    are no members.
    """
    [folder] = import_module(package).__path__
    names = sorted(path.stem for path in Path(folder).glob("*.py"))
    members = [
        import_module(f"{package}.{name}")
        for name in names
        if not name.startswith("_") and name not in _SHARED
    ]
    return {
        getattr(member, "NAME", member.__name__.rpartition(".")[2]): member for member in members
    }
