"""docs/reference.md, generated from the code: `python -m tests.docs`."""

import ast
import re
from collections.abc import Iterator
from typing import Any

from django.core.management import get_commands, load_command_class
from drf_spectacular.generators import SchemaGenerator

from acl.web.problems import TITLES, TYPE, no_room
from catalog.servers.client.server_problems import FAILURES
from discovery.metatools import META_TOOLS
from marketplace.operate.checkup.registry import all_checks
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
_META_TOOLS = """
## Meta-tools

[Meta-tools](meta-tools.md) says how to call them. Each needs its scope.

| meta-tool | arguments | does | scope |
|---|---|---|---|
"""
_CHECKS = """
## Checks

`manage.py doctor` and the page *Health* run them; `/readyz` runs those marked with *.
[Operations](operations.md#what-is-wrong) says more.

| check | does |
|---|---|
"""
_FAILURES = """
## Failures of servers

[Failures](outgoing.md#failures) says what follows: whose a failure is, whether it becomes the
state of the integration by a call or by a check, counts for the circuit breaker, and
what is sent once more.

| reason | whose | state by a call | state by a check | breaker | sent again |
|---|---|---|---|---|---|
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
        (_META_TOOLS, _meta_tools()),
        (_CHECKS, _checks()),
        (_FAILURES, _failures()),
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


def _meta_tools() -> Iterator[str]:
    for tool in META_TOOLS.values():
        arguments = ", ".join(f"`{name}`" for name in tool.parameters)
        first = re.split(r"[.;] ", tool.description)[0].rstrip(".")
        yield f"`{tool.name}` | {arguments} | {first}. | `{tool.scope}`"


def _checks() -> Iterator[str]:
    for check in sorted(all_checks(), key=lambda check: check.name):
        words = " ".join((check.look.__doc__ or "").split())
        yield f"`{check.name}`{' *' if check.for_readiness else ''} | {words}"


def _failures() -> Iterator[str]:
    for reason, failure in FAILURES.items():
        again = "always" if failure.unsent else "reads" if failure.repeated else ""
        flags = (failure.of_call, failure.of_check, failure.counts)
        cells = (f"`{reason}`", failure.owner, *("yes" if flag else "" for flag in flags), again)
        yield " | ".join(cells)


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
