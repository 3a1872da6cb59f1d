"""A map of the rooms, from the packages' first lines: `python -m tests.docs.room_map` prints it."""

import ast
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]
APPS = ("marketplace", "discovery", "catalog", "acl")
_NOT_ROOMS = {"migrations", "management", "commands"}

_BEGINNING = """# Map: where everything is

Four apps, one direction of imports: **marketplace → discovery → catalog → acl**. Each package is a
room for one subject. Its `__init__` says what it is for. Modules that begin with an underscore are
its own; the third column has the others. Inside an app, packages also import in one direction
(`pyproject.toml`, `[tool.importlinter]`). `make lint` refuses anything else.
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
| `lab/bench/` `lab/soak/` `tests/operate/` | what `make bench` and its like run |
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
    doors = sorted(path.stem for path in folder.glob("*.py") if not path.name.startswith("_"))
    open_modules = " ".join(f"`{module}`" for module in doors)
    return f"| `{name}/` | {first_line(folder / '__init__.py')} | {open_modules} |\n"


if __name__ == "__main__":
    sys.stdout.write(render_map())
