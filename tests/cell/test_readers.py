"""Documents of strangers are read apart, within limits, and what is answered is checked again."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from catalog.formats.descriptors import canonical_json
from catalog.formats.files import RefusedError
from catalog.formats.loader import load_path
from catalog.formats.openapi.api_document import parse_document
from catalog.formats.readers import openapi
from catalog.formats.readers.openapi import read_api
from catalog.servers.cell import support
from catalog.servers.client import document_readers, reader_process
from catalog.servers.client.document_readers import read_api_file, read_api_text
from catalog.servers.client.reader_process import MB, ReaderBounds
from catalog.servers.client.server_problems import Reason, ServerProblemError
from marketplace.models import Source
from marketplace.offers.kinds.base import load_file
from marketplace.sources._reader import SourceReading
from tests.openapi.documents import AS_YAML, library, new_library, old_library

pytestmark = pytest.mark.processes
NONE = "The system refuses cells: No permission to creating new namespace"
DOCUMENTS = {
    "3.0 as JSON": json.dumps(library()),
    "2.0 as JSON": json.dumps(old_library()),
    "3.1 as JSON": json.dumps(new_library()),
    "3.0 as YAML": AS_YAML,
}
OPTIONS: dict[str, Any] = {"file": "api", "slug": "books", "came_from": "https://a.example/"}


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with no answers of other tests."""
    monkeypatch.setattr(document_readers, "_answers", document_readers._Answers())


@pytest.fixture(params=["cell", "child"])
def apart(
    request: pytest.FixtureRequest, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> str:
    """Read in a cell, then where none can be made."""
    settings.PEGBOARD_CELL = "preferred"
    if request.param == "child":
        monkeypatch.setattr(reader_process, "cell_problem", lambda: NONE)
    elif problem := support.cell_problem():
        pytest.skip(f"No cell can be made here: {problem}")
    return str(request.param)


def test_documents_read_apart_are_the_same_as_here(
    apart: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each reading starts a process, so the child reads one of them.
    for name, text in list(DOCUMENTS.items())[:: 1 if apart == "cell" else 4]:
        here = read_api(parse_document(text), **OPTIONS)

        there = read_api_text(text, **OPTIONS)

        assert canonical_json(asdict(there)) == canonical_json(asdict(here)), name
        assert there.tools() == json.loads(json.dumps(here.tools())), name

    # What was read once is not read again, and another name is another reading.
    started: list[bytes] = []

    def start(document: bytes, *_: Any, **__: Any) -> None:
        started.append(document)

    monkeypatch.setattr(document_readers, "read_apart", start)
    assert read_api_text(DOCUMENTS["3.0 as JSON"], **OPTIONS).integration.slug == "books"
    assert not started
    with pytest.raises(RefusedError):
        read_api_text(AS_YAML, **OPTIONS | {"slug": "others"})
    assert len(started) == 1


def test_files_of_an_import_are_read_apart_and_those_of_a_source_not_at_all(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings.PEGBOARD_CELL = "preferred"
    hours = tmp_path / "hours.yaml"
    hours.write_text(AS_YAML)
    here, reading = load_path(hours), SourceReading(Source())
    monkeypatch.setattr(openapi, "read_document", None)  # nothing is read in this process

    imported = load_path(hours, read_api=read_api_file)
    offered = load_file(hours, tmp_path, reading)
    settings.PEGBOARD_CELL = "required"
    monkeypatch.setattr(reader_process, "cell_problem", lambda: NONE)
    hours.write_text(f"{AS_YAML}# Anew.\n")
    (tmp_path / "books.json").write_text(json.dumps(library()))
    refused = load_path(tmp_path, read_api=read_api_file)

    assert canonical_json(asdict(imported)) == canonical_json(asdict(here))
    assert (offered.integrations, refused.integrations) == ((), ())
    assert "is an OpenAPI document" in reading.defects[0].reason
    assert [(one.file, NONE in one.reason) for one in refused.defects] == [
        ("books.json", True),
        ("hours.yaml", True),
    ]


def test_refusals_and_limits_name_what_is_wrong(apart: str) -> None:
    long = "openapi: 3.0.0\npaths:\n" + "".join(f"  /{at}: {{}}\n" for at in range(20_000))
    cases: list[tuple[str, ReaderBounds, str, str]] = [
        ('{"openapi": "3.0.0", "paths": []}', ReaderBounds(), "has no paths", "paths"),
        (json.dumps(library(servers=[])), ReaderBounds(), "says no address of the API", "servers"),
        ("openapi: 3.0.0\na: &x 1\nb: *x\n", ReaderBounds(), "uses a YAML alias or anchor", "file"),
        (long, ReaderBounds(memory_bytes=40 * MB), "", "file"),
        (json.dumps(library()), ReaderBounds(seconds=0), "takes more than 0 seconds", "file"),
        (json.dumps(library()), ReaderBounds(answer_bytes=100), "takes more than", "file"),
    ]
    for text, bounds, reason, field in cases if apart == "cell" else cases[3:]:
        with pytest.raises(RefusedError) as refused:
            read_api_text(text, bounds=bounds, file="api")

        assert refused.value.reason.startswith(reason), (reason, refused.value.reason)
        assert refused.value.field == field


def test_reader_that_closes_its_output_and_goes_on_is_ended(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PEGBOARD_CELL = "preferred"
    monkeypatch.setattr(reader_process, "_START", "import os, time; os.close(1); time.sleep(600)")

    with pytest.raises(RefusedError) as refused:
        read_api_text(AS_YAML, bounds=ReaderBounds(seconds=3), **OPTIONS)

    assert refused.value.reason == "takes more than 3 seconds to read"


@pytest.mark.parametrize("seconds", [2, 3])
def test_reader_that_takes_too_much_of_a_cpu_is_ended_with_its_number(
    apart: str, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    monkeypatch.setattr(reader_process, "_START", "while True: pass")

    with pytest.raises(RefusedError) as refused:
        read_api_text(AS_YAML, bounds=ReaderBounds(cpu_seconds=seconds), **OPTIONS)

    assert refused.value.reason == f"needs more than {seconds} seconds of a CPU to read"


def test_where_a_cell_is_required_nothing_is_read_without_one(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PEGBOARD_CELL = "required"
    monkeypatch.setattr(reader_process, "cell_problem", lambda: NONE)

    with pytest.raises(ServerProblemError) as problem:
        read_api_text(AS_YAML, **OPTIONS)

    assert problem.value.reason == Reason.NO_CELL
    assert NONE in problem.value.detail


def saying(answer: bytes) -> Callable[..., object]:
    """Return a reader with this answer to everything."""
    return lambda *_, into, **__: into.write(answer)


def _answer(**changes: Any) -> dict[str, Any]:
    read: dict[str, Any] = asdict(read_api(parse_document(AS_YAML), **OPTIONS))
    return dict(json.loads(json.dumps({**read, **changes})))


def _with_integration(**changes: Any) -> dict[str, Any]:
    read = _answer()
    return {**read, "integration": {**read["integration"], **changes}}


def _with_operation(**changes: Any) -> dict[str, Any]:
    read = _answer()
    first, *others = read["operations"]
    return {**read, "operations": [{**first, **changes}, *others]}


def test_a_broken_reader_says_nothing_that_a_document_could_not(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PEGBOARD_CELL = "preferred"
    lies: dict[str, object] = {
        "no JSON": b"\xff{",
        "a number": 1,
        "a list": [1],
        "no reading": {},
        "half a refusal": {"refused": ["only this"]},
        "another kind": {"read": _with_integration(kind="mcp")},
        "another transport": {"read": _with_integration(transport="stdio")},
        "a command": {"read": _with_integration(command=["/bin/sh"])},
        "an odd slug": {"read": _with_integration(slug="../up")},
        "a file's address": {"read": _with_integration(endpoint="file:///etc/passwd")},
        "a title that is none": {"read": _with_integration(title=["x"])},
        "a book as a title": {"read": _with_integration(title="x" * 10_000)},
        "no operations": {"read": _answer(operations=[])},
        "a tool by another name": {"read": _with_operation(name="other")},
        "a tool sent elsewhere": {"read": _with_operation(path="/elsewhere")},
        "no tool": {"read": _with_operation(tool={})},
        "deep JSON": b'{"read":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    }
    for name, lie in lies.items():
        answer = lie if isinstance(lie, bytes) else json.dumps(lie).encode()
        monkeypatch.setattr(document_readers, "read_apart", saying(answer))

        with pytest.raises(RefusedError) as refused:
            read_api_text(AS_YAML, **OPTIONS)

        assert "its reader gave no usable answer" in refused.value.reason, name
    honest = json.dumps({"read": _answer()}).encode()
    monkeypatch.setattr(document_readers, "read_apart", saying(honest))
    assert read_api_text(AS_YAML, **OPTIONS).integration.slug == "books"


def test_the_reader_sees_its_own_files_only() -> None:
    shown = [str(path) for path in reader_process.reader_files()]

    assert not any(path.endswith(("site-packages", "settings.py")) for path in shown)
    assert {path.rpartition("/")[2] for path in shown} >= {"formats", "strict_json.py", "yaml"}
