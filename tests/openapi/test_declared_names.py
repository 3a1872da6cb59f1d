"""Requests of APIs, with the declared headers, parameters and fields, and no others."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.formats.descriptors import JSONObject
from catalog.formats.header_names import DeclaredBy, can_be_sent, header_key, reserved_names
from catalog.formats.loader import load_value
from catalog.formats.openapi.api_requests import ArgumentRefusedError, build_request
from catalog.formats.openapi.api_security import Credentials
from catalog.formats.readers.openapi import ReadApi, read_api
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import HttpServer
from tests.examples import EXAMPLES_OF_TEXTS
from tests.openapi.calls import call_operation
from tests.openapi.documents import library
from tests.openapi.mock import MockApi, mock_api

SPELLINGS = (str, str.upper, str.title, lambda name: name.replace("-", "_"))
UNWRITABLE = ("", "naïve", "x y", "x:y", "x\r\ny", "ключ", "x\x00", "-x", "x" * 200)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
NAMES = st.sampled_from(["page", "api_key", "filter", "filter[year]", "year", "_method", "limit"])


def reserved(place: DeclaredBy) -> Iterator[str]:
    """Yield every name that a place must not set, in the spellings that servers take for it."""
    for name in reserved_names(place):
        yield from sorted({spell(name) for spell in SPELLINGS})
    yield from UNWRITABLE


def document_with(*parameters: JSONObject, **schemes: JSONObject) -> JSONObject:
    """Return the library's document with these parameters of `list_books` added."""
    document = library(servers=[{"url": "/"}])
    document["components"]["securitySchemes"].update(schemes)
    operation = document["paths"]["/books"]["get"]
    operation["parameters"] = [*operation.get("parameters", ()), *parameters]
    return document


def read(document: JSONObject) -> ReadApi:
    return read_api(document, file="api", address="https://library.example")


def sending_of(api: ReadApi) -> JSONObject:
    """Return how `list_books` is sent."""
    [tool] = [one.tool for one in api.operations if one.name == "list_books"]
    return dict(tool["annotations"]["http"])


@pytest.mark.parametrize("name", list(reserved(DeclaredBy.ARGUMENT)))
def test_reserved_header_is_no_argument_nor_sent_where_an_earlier_release_read_it(
    name: str,
) -> None:
    parameter = {"name": name, "in": "header", "schema": {"type": "string"}}

    api = read(document_with(parameter))

    sent = [one["name"] for one in sending_of(api)["parameters"] if one["in"] == "header"]
    assert sent == ["X-Branch"]
    parameter = {"argument": "odd", "in": "header", "name": name}
    sending = {"method": "GET", "path": "/books", "parameters": [parameter]}
    with pytest.raises(ArgumentRefusedError, match="odd"):
        build_request("https://library.example", sending, {"odd": "1"}, Credentials())


def test_left_out_parameter_is_named() -> None:
    parameter = {"name": "X-HTTP-Method-Override", "in": "header", "schema": {"type": "string"}}

    [defect] = read(document_with(parameter)).defects

    assert defect.field == "GET /books"
    assert "'X-HTTP-Method-Override'" in defect.reason


@pytest.mark.parametrize("name", list(reserved(DeclaredBy.SIGN_IN)))
def test_reserved_header_is_no_sign_in(name: str) -> None:
    scheme = {"type": "apiKey", "in": "header", "name": name}

    api = read(document_with(odd=scheme))

    assert "odd" not in api.integration.source_ref["security"]


@pytest.mark.parametrize("name", list(reserved(DeclaredBy.SERVER)))
def test_reserved_header_is_none_of_a_server(name: str) -> None:
    server = {"url": "https://wiki.example/mcp", "headers": {name: "${VALUE}", "X-Team": "a"}}

    [integration] = load_value({"mcpServers": {"wiki": server}}, file="mcp.json").integrations

    assert integration.source_ref["headers"] == {"X-Team": "a"}
    with pytest.raises(ValueError, match="cannot be sent"):
        HttpServer("https://wiki.example/mcp", {name: "1"})


@given(
    name=st.text(st.characters(codec="ascii"), max_size=30),
    place=st.sampled_from(DeclaredBy),
)
def test_names_that_servers_take_for_the_same_are_judged_the_same(
    name: str, place: DeclaredBy
) -> None:
    judged = {can_be_sent(spell(name), place) for spell in SPELLINGS}

    assert len(judged) == 1
    assert header_key(header_key(name)) == header_key(name)


@pytest.mark.parametrize("place", ["header", "query", "cookie"])
@pytest.mark.parametrize("spell", [str, str.upper, lambda name: name.replace("-", "_")])
def test_argument_never_has_the_name_of_the_sign_in(place: str, spell: Any) -> None:
    scheme = {"type": "apiKey", "in": place, "name": "x-library-key"}
    name = spell("x-library-key") if place == "header" else "x-library-key"
    parameter = {"name": name, "in": place, "schema": {"type": "string"}}
    document = document_with(parameter, key=scheme)

    sent = {(one["in"], one["name"]) for one in sending_of(read(document))["parameters"]}

    assert (place, name) not in sent


@pytest.fixture(scope="module")
def api() -> Iterator[MockApi]:
    """A library, and its list that takes objects in each style."""
    ways: tuple[JSONObject, ...] = (
        {"name": "spread", "schema": {"type": "object", "properties": {"year": {}, "page": {}}}},
        {"name": "free", "schema": {"type": "object"}},
        {"name": "open", "schema": {"type": "object", "additionalProperties": True}},
        {"name": "deep", "style": "deepObject", "schema": {"type": "object"}},
        {"name": "flat", "explode": False, "schema": {"type": "object"}},
        {"name": "pipes", "style": "pipeDelimited", "schema": {"type": "object"}},
        {"name": "written", "content": {"application/json": {"schema": {"type": "object"}}}},
        {"name": "deep[limit]", "schema": {"type": "string"}},
    )
    key = {"type": "apiKey", "in": "query", "name": "api_key"}
    with mock_api(document_with(*({"in": "query", **one} for one in ways), key=key)) as server:
        yield server


@settings(max_examples=EXAMPLES_OF_TEXTS, deadline=None)
@given(
    way=st.sampled_from(["spread", "free", "open", "deep", "flat", "pipes", "written"]),
    value=st.dictionaries(NAMES | st.text(max_size=8), VALUES, max_size=4),
)
def test_object_invents_no_parameter(api: MockApi, way: str, value: JSONObject) -> None:
    api.asked.clear()
    with suppress(ServerProblemError):
        call_operation(api, "list_books", {way: value}, secrets={"KEY": "s3cret"})

    if not api.asked:  # refused
        return
    [request] = api.asked
    names = [name for name, _ in request.query]
    assert [text for name, text in request.query if name == "api_key"] == ["s3cret"]
    fields = {"year"} if way == "spread" else set()
    assert all(name in {way, "api_key", *fields} or name.startswith(f"{way}[") for name in names), (
        names
    )
    assert "deep[limit]" not in names


def test_declared_fields_are_spread(api: MockApi) -> None:
    api.asked.clear()

    call_operation(api, "list_books", {"spread": {"year": 1984}}, secrets={"KEY": "s3cret"})

    assert ("year", "1984") in api.asked[0].query


@pytest.mark.parametrize(
    ("way", "field"), [("spread", "page"), ("spread", "api_key"), ("deep", "limit")]
)
def test_field_with_the_name_of_another_parameter_is_refused(
    api: MockApi, way: str, field: str
) -> None:
    api.asked.clear()

    with pytest.raises(ServerProblemError) as problem:
        call_operation(api, "list_books", {way: {field: "1"}}, secrets={"KEY": "s3cret"})

    assert problem.value.reason is Reason.REFUSED
    assert api.asked == []
