"""All regular expressions of the product, found in its source and compiled as Python does."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import regex

PROJECT = Path(__file__).resolve().parents[2]
PACKAGES = ("acl", "catalog", "discovery", "marketplace", "pegboard_client")
FUNCTIONS = {"compile", "match", "fullmatch", "search", "sub", "subn"}
FUNCTIONS |= {"split", "findall", "finditer"}
ANCHORED = {"match", "fullmatch"}
# Started by hand, or by a server that forks on import.
# The hook needs LiteLLM, which is not among the tests' packages; it must have no expressions.
HOOK = PROJECT / "docs" / "client" / "pegboard_client" / "frameworks" / "litellm_hook.py"
_NOT_IMPORTED = ("manage", "__main__", HOOK.stem)


@dataclass(slots=True)
class Pattern:
    """A regular expression, its place, and its use."""

    place: str
    source: str
    flags: int
    methods: set[str] = field(default_factory=set)

    @property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.source, self.flags)

    @property
    def is_anchored(self) -> bool:
        return bool(self.methods) and self.methods <= ANCHORED


def product_modules() -> Iterator[ModuleType]:
    """Import and yield each module of the product."""
    for package in PACKAGES:
        root = importlib.import_module(package)
        for found in pkgutil.walk_packages(root.__path__, f"{package}."):
            if not found.name.rpartition(".")[2].startswith(_NOT_IMPORTED):
                yield importlib.import_module(found.name)


def product_patterns() -> list[Pattern]:
    """Yield each expression that a module stores or passes to a call."""
    found: dict[tuple[str, int], Pattern] = {}
    for module in product_modules():
        tree = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))
        for pattern in (*_kept(module, tree), *_inline(module, tree)):
            known = found.setdefault((pattern.source, pattern.flags), pattern)
            known.methods |= pattern.methods
    return list(found.values())


def unicode_patterns() -> Iterator[tuple[str, Any]]:
    """Yield each expression of the `regex` module that a module stores, by its place."""
    for module in product_modules():
        for name, value in vars(module).items():
            if isinstance(value, regex.Pattern):
                yield f"{module.__name__}.{name}", value


def unreadable_calls() -> Iterator[str]:
    """Yield calls of `re` with computed expressions, which no test can enumerate."""
    for module in product_modules():
        tree = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))
        for call in _calls_in_functions(tree):
            if _constant(call) is None:
                yield f"{module.__name__}: {ast.unparse(call)}"


def _kept(module: ModuleType, tree: ast.Module) -> Iterator[Pattern]:
    for name, value in vars(module).items():
        for each in _within(value):
            methods = _methods_of(name, tree) if each is value else {"search"}
            yield Pattern(f"{module.__name__}.{name}", each.pattern, each.flags, methods)


def _within(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _within(inner)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from _within(inner)
    elif is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            yield from _within(getattr(value, each.name))


def _methods_of(name: str, tree: ast.Module) -> set[str]:
    """Return the methods that use it; search if it is passed on."""
    used, methods = 0, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            used += 1
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == name:
            used -= 1
            methods.add(node.attr)
    return methods if methods and not used else methods | {"search"}


def _inline(module: ModuleType, tree: ast.Module) -> Iterator[Pattern]:
    for call in _re_calls(tree):
        if (source := _constant(call)) is not None:
            flags = _flags(call)
            place = f"{module.__name__}:{call.lineno}"
            name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if name != "compile":
                yield Pattern(place, source, flags, {name})


def _calls_in_functions(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _re_calls(node)


def _re_calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in FUNCTIONS
            and getattr(node.func.value, "id", "") == "re"
        ):
            yield node


def _constant(call: ast.Call) -> str | None:
    try:
        source = ast.literal_eval(call.args[0])
    except (ValueError, IndexError):
        return None
    return source if isinstance(source, str) else None


def _flags(call: ast.Call) -> int:
    """Parse the flags from anywhere in the call."""
    values = (*call.args, *(word.value for word in call.keywords))
    flags = 0
    for node in (node for value in values for node in ast.walk(value)):
        flag = getattr(re, node.attr, None) if isinstance(node, ast.Attribute) else None
        flags |= flag if isinstance(flag, re.RegexFlag) else 0
    return flags
