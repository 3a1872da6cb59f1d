"""docs/reference.md, generated from the code: `python -m tests.docs`."""

import ast
import re
from collections.abc import Iterator
from typing import Any

from django.core.management import get_commands, load_command_class
from drf_spectacular.generators import SchemaGenerator

from acl.web.problems import TITLES, TYPE, no_room
from tests.docs.room_map import APPS, PROJECT

PAGE = PROJECT / "docs" / "reference.md"
_BEGINNING = """# Reference

Tables generated from the code: `python -m tests.docs`. Fields of requests and answers are in
`/api/docs/` of a running Pegboard.

## API operations

A key needs one of the scopes. [The API](api.md#scopes) says what each scope covers, and what people
in a web session may do.

| operation | does | scopes |
|---|---|---|
"""
_PROBLEMS = f"""
## Problems

Each error is `application/problem+json`; its `type` is `{TYPE}` and the name below.
[The API](api.md#problems) has an example.

| status | name | title |
|--:|---|---|
"""
_COMMANDS = """
## Commands

`manage.py COMMAND --help` lists the options.

| command | does |
|---|---|
"""
_METRICS = """
## Metrics

`/metrics` serves them in Prometheus format. [The API](api.md#health-and-metrics) says who may read.

| metric | type | labels | meaning |
|---|---|---|---|
"""
_TYPES = {
    "Counter": "counter",
    "Histogram": "histogram",
    "Gauge": "gauge",
    "GaugeMetricFamily": "gauge",
}


def render_reference() -> str:
    """Return the whole page; Django has to be set up."""
    parts = (
        (_BEGINNING, _operations()),
        (_PROBLEMS, _problems()),
        (_COMMANDS, _commands()),
        (_METRICS, sorted(_metrics())),
    )
    return "".join(head + "".join(f"| {row} |\n" for row in rows) for head, rows in parts)


def _operations() -> Iterator[str]:
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    schema: dict[str, Any] = generator.get_schema(public=True)  # type: ignore[no-untyped-call]
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            scopes = " ".join(f"`{scope}`" for scope in operation["x-required-scopes"])
            yield f"`{method.upper()} {path}` | {operation['summary']} | {scopes}"


def _problems() -> Iterator[str]:
    for status, (name, title) in TITLES.items():
        yield f"{status} | `{name}` | {title}"
    full = no_room()
    yield f"{full['status']} | `{full['type'].removeprefix(TYPE)}` | {full['title']}"


def _commands() -> Iterator[str]:
    for name, app in sorted(get_commands().items()):
        if app in APPS:
            first = re.split(r"[.:;] ", load_command_class(app, name).help)[0]
            yield f"`{name}` | {first.rstrip('.')}."


def _metrics() -> Iterator[str]:
    for app in APPS:
        for module in (PROJECT / app).rglob("*.py"):
            text = module.read_text("utf-8")
            if "prometheus_client" in text:
                yield from map(_metric, filter(_is_metric, ast.walk(ast.parse(text))))


def _is_metric(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in _TYPES
        and "pegboard_" in ast.unparse(node.args[0])
    )


def _metric(node: ast.AST) -> str:
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    name, meaning, *labels = (ast.unparse(argument).strip("f'") for argument in node.args)
    labels += [ast.unparse(word.value) for word in node.keywords if word.arg == "labels"]
    kind = _TYPES[node.func.id]
    total = "_total" if kind == "counter" else ""
    shown = ", ".join(ast.literal_eval(labels[0])) if labels and labels[0][0] == "[" else ""
    return f"`{name}{total}` | {kind} | {shown} | {meaning}"
