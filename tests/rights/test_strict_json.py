"""Strict JSON: one parser for all external input, and rows that cannot hide others."""

import ast
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acl.platform.strict_json import (
    LONGEST_NUMBER,
    StrictJSONError,
    check_value,
    parse_json,
    write_json,
)

ROOT = Path(__file__).parents[2]

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)

REFUSED = [
    ("NaN", "NaN is no JSON number (line 1, column 1)"),
    ("[1,\n Infinity]", "Infinity is no JSON number (line 2, column 2)"),
    ("-Infinity", "-Infinity is no JSON number (line 1, column 1)"),
    ('{"a": 1e999}', "1e999 is too large (line 1, column 7)"),
    ("-1e309", "-1e309 is too large (line 1, column 1)"),
    ("1" + "0" * 290 + ".0e20", "too large (line 1, column 1)"),
    ("1e-999", "1e-999 is too small (line 1, column 1)"),
    ("9" * 301, "a number of more than 300 digits (line 1, column 1)"),
    ("[0." + "1" * 5_000 + "]", "a number of more than 300 characters (line 1, column 2)"),
    ('{"a": 1, "a": 1}', "the key 'a' occurs twice"),
    ('{"a": 1, "\\u0061": 1}', "the key 'a' occurs twice"),
    ("[" * 33 + "]" * 33, "nested more than 32 deep (line 1, column 33)"),
    ("[" * 1_000_000, "nested more than 32 deep"),
    ('{"a":' * 100_000, "nested more than 32 deep"),
    ('{"x": {"y": ["a\\u0000"]}}', "a NUL character or half a surrogate pair (x.y.0)"),
    ('{"a\\u0000": 1}', "a NUL character or half a surrogate pair"),
    ('"\\ud83d"', "a NUL character or half a surrogate pair"),
    ('"\\ude00\\ud83d"', "a NUL character or half a surrogate pair"),
    ("{'a': 1}", "(line 1, column 2)"),
    ('{"a": 1,}', "(line 1,"),
    ("01", "Extra data"),
    ("+1", "(line 1, column 1)"),
    (".5", "(line 1, column 1)"),
    ("1.", "(line 1, column 2)"),
    ("0x10", "(line 1, column 2)"),
    ("1_000", "(line 1, column 2)"),
    ('"a\nb"', "(line 1,"),
    ("", "(line 1, column 1)"),
    ("// no\n{}", "(line 1, column 1)"),
    ("{} {}", "Extra data"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_what_parsers_disagree_about_is_refused_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(StrictJSONError) as refused:
        parse_json(text)

    assert reason in str(refused.value)


@pytest.mark.parametrize(
    "body",
    [b'{"a": "\xff"}', b'"\xed\xa0\x80"', b'"\xc0\x80"', b"\xef\xbb\xbf{}", "{}".encode("utf-16")],
)
def test_bytes_are_plain_utf8(body: bytes) -> None:
    with pytest.raises(StrictJSONError):
        parse_json(body)


@given(values)
def test_every_proper_value_comes_back_as_it_was(value: Any) -> None:
    again = parse_json(write_json(value), max_depth=100)

    assert repr(again) == repr(value)
    check_value(again, max_depth=100)


@given(st.integers(0, 400), st.integers(-400, 400))
def test_a_number_is_finite_and_is_not_lost(digits: int, exponent: int) -> None:
    literal = f"1{'0' * digits}e{exponent}"

    try:
        number = parse_json(literal)
    except StrictJSONError:
        return

    assert math.isfinite(number)
    assert number > 0
    assert len(literal) <= LONGEST_NUMBER


def test_digits_of_whole_numbers_are_kept() -> None:
    assert parse_json("[9007199254740993, -0, 1.0, 1e2]") == [9007199254740993, 0, 1.0, 100.0]
    assert [type(one) for one in parse_json("[1, 1.0, 1e0]")] == [int, float, float]


@pytest.mark.parametrize(
    "value", [math.inf, [math.nan], {"a": -math.inf}, "\ud800", {"\x00": 1}, 10**400]
)
def test_a_value_that_no_json_has_is_refused_in_memory_too(value: Any) -> None:
    with pytest.raises(StrictJSONError):
        check_value(value)


def test_nothing_that_is_not_json_is_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json({"a": math.inf})


# JSON readers that may bypass `strict_json`, with the reason.
OWN = "written by Pegboard itself, into its cache or its own row, and read back"
OTHERS = {
    "acl/platform/strict_json.py json.loads": "the strict parser",
    "acl/platform/stored_json.py json.loads": "jsonb, of which it replaces what cannot be read",
    "acl/platform/redis_circuit.py json.loads": OWN,
    "catalog/formats/loose_text.py json.loads": "a configuration with a plain value twice, of "
    "which the strict parser reads the result",
    "catalog/servers/oauth/_authorization_server.py json.loads": OWN,
    "catalog/servers/oauth/tokens.py json.loads": OWN,
    "catalog/servers/oauth/sign_in.py json.loads": OWN,
    "marketplace/installs/packages/_tarball_unpacker.py json.load": OWN,
    "catalog/embedding/shipped_model.py json.loads": "a file of the distribution",
    "catalog/embedding/model_conversion.py json.loads": OWN,
    "catalog/embedding/multilingual_model.py json.loads": OWN,
    "catalog/servers/secrets/encryption_keys.py json.loads": OWN,
    "catalog/capabilities/listing_cache.py json.loads": OWN,
    "catalog/access/usable_ids.py json.loads": "a jsonb value of our statement, read as text",
    "catalog/trust/tool_list.py json.loads": OWN,
    "catalog/formats/reader_program.py json.loads": "the request of its parent, in a cell",
    "catalog/servers/cell/entry.py json.loads": "what bubblewrap says of its child",
    "catalog/servers/cell/report.py json.loads": OWN,
    "catalog/servers/client/_readable_json.py json.loads": "read again by the strict parser",
    "catalog/servers/client/process_guard.py json.loads": "an argument of its parent",
    "discovery/answer/formats/_legal_schema.py json.loads": OWN,
    "discovery/answer/modes.py json.loads": "a jsonb column, read as text",
    "discovery/select/_candidate_rows.py json.loads": "a jsonb column, read as text",
    "discovery/answer/tiers.py json.loads": "a jsonb column, read as text",
    "discovery/flow_guard/_argument_roles.py json.loads": "only looked at: it may hold targets",
    "discovery/flow_guard/turn_memory.py json.loads": OWN,
    "discovery/flow_guard/_result_records.py json.loads": "only looked at: records",
    "discovery/calls/channel.py json.loads": OWN,
    "discovery/mcp/server/call_tasks.py json.loads": OWN,
    "discovery/calls/server_requests/change_channel.py json.loads": OWN,
    "marketplace/offers/offer.py json.loads": "a jsonb column, read as text",
    "marketplace/offers/kinds/starter.py json.loads": "a file of the distribution",
    "discovery/demo.py .json": "answers of the Pegboard that the demo talks to",
    "catalog/servers/client/_readable_json.py .validate_json": "read again by the strict parser",
}
_READERS = {
    "loads": "json.loads", "load": "json.load", "JSONDecoder": "json.JSONDecoder",
    "json": ".json", "validate_json": ".validate_json",
    "model_validate_json": ".model_validate_json", "parse_raw": ".parse_raw",
    "JSONParser": "JSONParser",
}  # fmt: skip


def readers() -> Iterator[str]:
    """Yield each place that parses JSON without `parse_json`."""
    for app in ("acl", "catalog", "discovery", "marketplace"):
        for path in sorted((ROOT / app).rglob("*.py")):
            if "migrations" in path.parts:
                continue
            text = path.read_text("utf-8")
            if "json" not in text.lower() and "parse_raw" not in text:
                continue  # each reader has one of them in its name
            for node in ast.walk(ast.parse(text)):
                if reader := _reader(node):
                    yield f"{path.relative_to(ROOT)} {reader}"


def _reader(node: ast.AST) -> str:
    if isinstance(node, ast.ImportFrom) and node.module in {"json", "orjson", "simplejson"}:
        return f"from {node.module}"  # would hide its calls from this test
    if isinstance(node, ast.Name) and node.id in {"JSONParser", "JSONDecoder"}:
        return node.id
    node = node.func if isinstance(node, ast.Call) else node
    if not isinstance(node, ast.Attribute) or node.attr not in _READERS:
        return ""
    if node.attr in {"loads", "load", "JSONDecoder"}:
        is_json = isinstance(node.value, ast.Name) and node.value.id.endswith("json")
        return _READERS[node.attr] if is_json else ""
    return _READERS[node.attr]


def test_every_reader_of_json_is_the_strict_one_or_has_a_reason() -> None:
    assert set(readers()) == OTHERS.keys()


def test_no_form_of_the_admin_parses_json() -> None:
    """Django's field accepts NaN, and NUL characters, which Postgres rejects."""
    from django.contrib import admin
    from django.contrib.auth.models import User
    from django.db.models import JSONField
    from django.test import RequestFactory

    request = RequestFactory().get("/")
    request.user = User(is_staff=True, is_superuser=True, is_active=True)
    editable = {
        f"{model._meta.label}.{name}"
        for model, page in admin.site._registry.items()
        if page.has_change_permission(request) or page.has_add_permission(request)
        for name in page.get_form(request).base_fields
        if name in {field.name for field in model._meta.fields if isinstance(field, JSONField)}
    }

    assert editable == set()
