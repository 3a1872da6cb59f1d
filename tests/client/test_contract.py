"""The client against the API's schema: it sends nothing unknown, and promises nothing missing."""

import inspect
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import pegboard_client
import pytest
from pegboard_client import api_request, client, client_async, options
from pegboard_client.api_request import ApiRequest

from tests.docs import client_types, typescript_types

PACKAGE = Path(client.__file__).parent
Schema = dict[str, Any]


@pytest.fixture(scope="module")
def schema() -> Schema:
    return client_types.read_description()


# Each request with the type of its options.
ASKED: dict[str, tuple[ApiRequest[Any], type | None]] = {
    "select": (api_request.select("m", {}), options.SelectOptions),
    "plan": (api_request.plan("m", {}), options.PlanOptions),
    "discover": (api_request.discover("m", {}), options.DiscoverOptions),
    "execute": (api_request.execute("n", {}, "t", "k", {}), options.Caller),
    "get_call": (api_request.call("c", 1), None),
    "cancel_call": (api_request.cancel("c"), None),
    "get_turn": (api_request.turn("t"), None),
    "start_turn": (api_request.start("t"), None),
    "report_outcome": (api_request.outcome("t", {"task_success": True}), options.OutcomeFields),
    "list_capabilities": (api_request.capabilities({}), options.Filters),
    "get_capability": (api_request.capability("n", {}), options.DetailOptions),
    "list_meta_tools": (api_request.meta_tools(), None),
    "call_meta_tool": (api_request.meta("n", {}, "t", {}), options.Caller),
}


def test_every_call_of_the_client_is_here() -> None:
    functions = dict(inspect.getmembers(api_request, inspect.isfunction))
    own = {name for name, made in functions.items() if made.__module__ == api_request.__name__}

    assert len(ASKED) == len(own - {"call_under_way"})


@pytest.mark.parametrize("name", ASKED)
def test_what_is_sent_is_in_the_schema(name: str, schema: Schema) -> None:
    ask, said = ASKED[name]
    path = _template(schema, ask)
    operation = schema["paths"][path][ask.method.lower()]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    known = {each["name"]: each["schema"] for each in operation.get("parameters", ())}
    fields = _resolved(schema, body["schema"])["properties"] if body else {}

    hints = {api_request._FIELD_NAMES.get(key, key): kind for key, kind in _hints(said).items()}

    assert operation["operationId"] == name
    assert set(ask.body or ()) <= fields.keys()
    assert {*ask.query, *ask.headers} <= known.keys()
    assert hints.keys() <= (fields or known).keys()
    for field, kind in hints.items():
        assert _takes(schema, (fields or known)[field], kind), field


def _template(schema: Schema, ask: ApiRequest[Any]) -> str:
    paths: list[str] = [
        path for path, methods in schema["paths"].items() if ask.method.lower() in methods
    ]
    fits = [path for path in paths if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), ask.path)]
    # `/capabilities/batch` and `/capabilities/{full_name}`: the one with fewer placeholders is
    # meant.
    return min(fits, key=lambda path: path.count("{"))


@pytest.mark.parametrize("name", ASKED)
def test_what_is_promised_is_given(name: str, schema: Schema) -> None:
    ask, _ = ASKED[name]
    operation = schema["paths"][_template(schema, ask)][ask.method.lower()]
    function = next(
        made for _, made in inspect.getmembers(api_request, inspect.isfunction)
        if made.__module__ == api_request.__name__ and made.__name__ == _function_of(name)
    )  # fmt: skip
    (promised,) = get_args(get_type_hints(function)["return"])

    for status in {"200", "202"} & operation["responses"].keys():
        given = operation["responses"][status]["content"]["application/json"]["schema"]
        assert list(_broken(schema, given, promised, promised.__name__)) == []


def _function_of(operation: str) -> str:
    other = {"report_outcome": "outcome", "list_meta_tools": "meta_tools", "call_meta_tool": "meta"}
    return other.get(operation) or re.sub(r"^(get|list)_|_(call|turn)$", "", operation)


def _broken(schema: Schema, given: Schema, promised: Any, where: str) -> Any:
    """Yield the places where the API may return something that the type excludes."""
    may_be_null, given = given.get("nullable", False), _resolved(schema, given)
    may_be_null = may_be_null or given.get("nullable", False)
    kinds = get_args(promised) if get_origin(promised) in (Union, UnionType) else (promised,)
    if may_be_null and NoneType not in kinds and promised is not Any:
        yield f"{where} may be null"
    kind: Any = next((each for each in kinds if each is not NoneType), NoneType)
    if is_typeddict(kind):
        hints = get_type_hints(kind)
        missing = kind.__required_keys__ - set(given.get("required", ()))
        yield from (f"{where}.{name} may be missing" for name in sorted(missing))
        for name, inner in hints.items():
            if name not in given["properties"]:
                yield f"{where}.{name} is not there"
            else:
                yield from _broken(schema, given["properties"][name], inner, f"{where}.{name}")
    elif get_origin(kind) is Literal:
        if not set(given["enum"]) <= set(get_args(kind)):
            yield f"{where} may be one of {given['enum']}"
    elif get_origin(kind) is list:
        yield from _broken(schema, given["items"], get_args(kind)[0], f"{where}[]")
    elif kind is not Any and given.get("type") != _JSON[get_origin(kind) or kind]:
        yield f"{where} is {given.get('type')}"
    elif get_origin(kind) is dict and isinstance(given.get("additionalProperties"), dict):
        values = given["additionalProperties"]
        if values:
            yield from _broken(schema, values, get_args(kind)[1], f"{where}{{}}")


_JSON = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object"}


def _takes(schema: Schema, field: Schema, kind: Any) -> bool:
    """Return True if the API accepts every value of the type."""
    field = _resolved(schema, field)
    if get_origin(kind) in (Union, UnionType):
        return all(_takes(schema, field, each) for each in get_args(kind))
    if get_origin(kind) is Literal:
        return set(get_args(kind)) <= set(field["enum"])
    if kind in _JSON:
        return bool(field["type"] == _JSON[kind])
    return bool(field["type"] == "array") and _takes(schema, field["items"], get_args(kind)[0])


def _resolved(schema: Schema, part: Schema) -> Schema:
    while "$ref" in part or "allOf" in part:
        reference = part.get("$ref") or part["allOf"][0]["$ref"]
        part = schema["components"]["schemas"][reference.rsplit("/", 1)[1]]
    return part


def _hints(said: type | None) -> dict[str, Any]:
    return get_type_hints(said) if said else {}


def test_types_are_generated(schema: Schema) -> None:
    components = schema["components"]["schemas"]

    assert client_types.MODULE.read_text("utf-8") == client_types.render_types(components), (
        "run python -m tests.docs"
    )
    assert typescript_types.MODULE.read_text("utf-8") == typescript_types.render_types(schema), (
        "run python -m tests.docs"
    )


def test_both_clients_are_the_same_but_for_waiting() -> None:
    """The clients are written twice, since neither can call the other; changes go into both."""
    plain = _without_waiting(inspect.getsource(client))
    waiting = _without_waiting(inspect.getsource(client_async))

    assert waiting == plain


def _without_waiting(source: str) -> str:
    """Return the code on one line, without what tells the two apart."""
    body = source[source.index("class ") :]
    body = re.sub(r'"""A client of one .*?"""', "", body, count=1, flags=re.DOTALL)
    body = re.sub(r"\b(await |async )", "", body)
    body = re.sub(r"Async(Pegboard|Client|BaseTransport)", r"\1", body)
    body = body.replace("aclose", "close").replace("__aenter__", "__enter__")
    body = body.replace("__aexit__", "__exit__").replace("asyncio.sleep", "time.sleep")
    return re.sub(r"[\s,]+", "", body)


def test_package_is_typed_and_needs_httpx_alone(tmp_path: Path) -> None:
    """Installed as in its README, but without an index, from a copy: building leaves files."""
    shutil.copytree(PACKAGE.parent, tmp_path / "client")
    quiet = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    subprocess.run(  # noqa: S603 (our own words)
        [sys.executable, "-m", "pip", "wheel", *quiet, str(tmp_path), str(tmp_path / "client")],
        check=True,
    )
    [wheel] = tmp_path.glob("*.whl")
    files = zipfile.ZipFile(wheel)
    [metadata] = [name for name in files.namelist() if name.endswith("/METADATA")]
    sources = "\n".join(path.read_text("utf-8") for path in PACKAGE.glob("*.py"))
    imported = set(re.findall(r"^(?:from|import) (\w+)", sources, re.MULTILINE))

    needs = re.findall(r"^Requires-Dist: (.+)", files.read(metadata).decode(), re.MULTILINE)
    assert [each for each in needs if "extra ==" not in each] == ["httpx<0.29,>=0.27"]
    assert imported - sys.stdlib_module_names == {"httpx", "pegboard_client"}
    assert "pegboard_client/py.typed" in files.namelist()
    assert wheel.name.startswith(f"pegboard_client-{pegboard_client.__version__}-")
    assert f"pegboard-client/{pegboard_client.__version__}" in sources
