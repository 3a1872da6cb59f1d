"""Names of secret values, which error reports must not show, are those that the function has."""

import ast
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def _hidden() -> Iterator[tuple[str, ast.FunctionDef, set[str]]]:
    for app in ("acl", "catalog", "discovery", "marketplace"):
        for path in (PROJECT / app).rglob("*.py"):
            text = path.read_text("utf-8")
            if "sensitive_variables" not in text:
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.FunctionDef):
                    calls = [c for d in node.decorator_list for c in ast.walk(d)]
                    named = {
                        str(argument.value)
                        for call in calls
                        if isinstance(call, ast.Call)
                        and ast.unparse(call.func) == "sensitive_variables"
                        for argument in call.args
                        if isinstance(argument, ast.Constant)
                    }
                    if named:
                        yield f"{path.relative_to(PROJECT)} {node.name}", node, named


def test_hidden_values_are_called_as_their_decorator_says() -> None:
    functions = list(_hidden())

    assert len(functions) > 10
    for place, node, hidden in functions:
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        names |= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
        assert hidden <= names, place
