"""Test modules stand alone: what several need is in a helper module or a conftest."""

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_no_test_module_is_imported_by_another() -> None:
    borrowed = {
        f"{path.relative_to(TESTS)} imports {name}"
        for path in TESTS.rglob("*.py")
        for name in _imported_modules(path)
        if name.rpartition(".")[2].startswith("test_")
    }

    assert borrowed == set()


def _imported_modules(path: Path) -> set[str]:
    """Return the dotted names that a file's import statements may mean as modules."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in names if name.startswith("tests.")}
