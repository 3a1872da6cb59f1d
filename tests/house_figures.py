"""Figures of the house that may only fall: `python -m tests.house_figures`, in `make lint`.

Each counts what a reader stumbles over. Where one has fallen, lower its limit here with it.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[1]
APPS = ("acl", "catalog", "discovery", "marketplace")
# Names that say what happened to a value, not what it is.
VAGUE = frozenset(
    {
        *("found", "one", "asked", "wanted", "told", "shown", "given", "own", "kept", "known"),
        *("said", "named", "made", "read", "written", "seen", "meant", "left", "begun"),
        *("each", "other", "there", "here"),
    }
)
LIMITS = {
    "values named by what happened to them": 74,
    "modules that repeat their package": 8,
    "class names used more than once": 7,
    "lines of the longest function": 58,
    "private helpers with one caller": 1_345,
    "modules": 764,
}


def count_figures() -> dict[str, int]:
    """Return the figures of the product, by the names in `LIMITS`."""
    vague = helpers = longest = stutter = 0
    classes: Counter[str] = Counter()
    for path, tree in _modules():
        uses = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
        for node in ast.walk(tree):
            vague += _bound_name(node) in VAGUE
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                longest = max(longest, (node.end_lineno or node.lineno) - node.lineno + 1)
            elif isinstance(node, ast.ClassDef) and _is_told_by_its_name(node.name):
                classes[node.name] += 1
        helpers += sum(
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name.startswith("_")
            and uses[node.name] == 1
            for node in tree.body
        )
        stutter += _repeats_its_package(path)
    modules = sum(1 for _ in _modules())
    repeated = sum(number > 1 for number in classes.values())
    figures = (vague, stutter, repeated, longest, helpers, modules)
    return dict(zip(LIMITS, figures, strict=True))


def _modules() -> Iterator[tuple[Path, ast.Module]]:
    for app in APPS:
        for path in sorted((PROJECT / app).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path, ast.parse(path.read_text("utf-8"))


def _bound_name(node: ast.AST) -> str:
    if isinstance(node, ast.arg):
        return node.arg
    is_bound = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    return node.id if isinstance(node, ast.Name) and is_bound else ""


def _is_told_by_its_name(name: str) -> bool:
    """Return False for classes whose outer class says what they are, and for private ones."""
    return name not in {"Meta", "Kind", "State", "Media"} and not name.startswith("_")


def _repeats_its_package(path: Path) -> bool:
    words, room = path.stem.strip("_").split("_"), path.parent.name.split("_")
    return len(words) > 1 and bool(set(map(_singular, words)) & set(map(_singular, room)))


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def main() -> int:
    """Print the figures that are above their limits; return 1 if there are some."""
    grown = {name: number for name, number in count_figures().items() if number > LIMITS[name]}
    for name, number in grown.items():
        sys.stdout.write(f"{name}: {number}, and at most {LIMITS[name]} may be.\n")
    return bool(grown)


if __name__ == "__main__":
    sys.exit(main())
