"""docs/map.md, generated from the packages' first lines: `python -m tests.docs.room_map`."""

import ast
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs" / "map.md"
APPS = ("marketplace", "discovery", "catalog", "acl")
_NOT_ROOMS = {"migrations", "management", "commands"}

_BEGINNING = """# Map: where everything is

Four apps, one direction of imports: **marketplace → discovery → catalog → acl**. Each package is a
room for one subject. Its `__init__` says what it is for, and names the modules that others may
import: the third column. Inside an app, packages also import in one direction (`pyproject.toml`,
`[tool.importlinter]`). `make lint` refuses anything else.

This page is generated from the packages: `python -m tests.docs.room_map`.
"""
_REST = """
## The rest

| place | what is in it |
|---|---|
| `<app>/admin/` | Django's admin, a file for each subject |
| `<app>/management/commands/` | the commands of `manage.py` |
| `<app>/urls.py` | the addresses of its endpoints, below `api/v1/` |
| `templates/` | a folder for each room with pages; shared pieces in `_components/` |
| `static/pegboard/` | styles, scripts and icons; `tokens.css` has colours and sizes |
| `docker/` | images, compose files, proxy, entrypoint |
| `docs/client/` `docs/client-typescript/` `docs/examples/` | the clients, and what uses them |
| `tests/` | a folder for each subject; `tests/oracle.py` is the plain answer to rights |
| `tests/bench/` `tests/soak/` `tests/operations/` | what `make bench` and its like run |
| `pyproject.toml` `*.lock` | dependencies with their reasons; exact versions with hashes |
"""


def render_map() -> str:
    """Return the whole page."""
    return _BEGINNING + "".join(map(_section, APPS)) + _REST


def rooms_of(app: str) -> list[Path]:
    """Return the packages of an app, the app itself first."""
    folders = sorted(path.parent for path in (PROJECT / app).rglob("__init__.py"))
    return [folder for folder in folders if not _NOT_ROOMS & set(folder.parts)]


def first_line(module: Path) -> str:
    """Return the first line of a module's docstring, or ""."""
    text = ast.get_docstring(ast.parse(module.read_text("utf-8"))) or ""
    return text.partition("\n")[0]


def _section(app: str) -> str:
    rows = (_row(folder) for folder in rooms_of(app)[1:])
    title = first_line(PROJECT / app / "__init__.py")
    return (
        f"\n## {app}\n\n{title}\n\n| room | what is in it | open to others |\n|---|---|---|\n"
        + "".join(rows)
    )


def _row(folder: Path) -> str:
    name = folder.relative_to(PROJECT).as_posix()
    named = " ".join(f"`{module}`" for module in _named(folder / "__init__.py"))
    return f"| `{name}/` | {first_line(folder / '__init__.py')} | {named} |\n"


def _named(module: Path) -> list[str]:
    """Return the modules in a package's `__all__`; tables and names of functions are left out."""
    for node in ast.parse(module.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return [name for name in names if _is_module(module.parent / name)]
    return []


def _is_module(path: Path) -> bool:
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


if __name__ == "__main__":
    sys.exit(0 if PAGE.write_text(render_map(), "utf-8") else 1)
