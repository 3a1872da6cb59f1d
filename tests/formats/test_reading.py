"""Third-party files are read within limits, and nothing outside of them (YAML-1, DOS-1, DOS-2)."""

import os
from pathlib import Path
from typing import Any

import pytest

from catalog.formats.files import (
    RefusedError,
    parse_json,
    parse_yaml,
    read_lines,
    read_text,
    resolve_types,
)
from catalog.formats.read_limits import DEFAULT_LIMITS, Limits
from tests.formats.folders import write

BILLION_LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{name}: &{name} [*{before}, *{before}]\n"
    for before, name in zip("abcdefg", "bcdefgh", strict=True)
)


def read_yaml(text: str, limits: Limits = DEFAULT_LIMITS) -> Any:
    return resolve_types(parse_yaml(text, limits=limits))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (BILLION_LAUGHS, "alias or anchor"),
        ("a: *b", "alias or anchor"),
        ("a: !!python/object/apply:os.system [ls]", "YAML tag"),
        ("a: !!str 1", "YAML tag"),
        ("!custom {a: 1}", "YAML tag"),
        ("a: " + "[" * 30 + "]" * 30, "nested more than 20"),
        ("a: [" + "x, " * 3_000 + "]", "more than 2,000 YAML elements"),
        ("a: " + "x" * 20_000, "more than 16,384 bytes"),
        ("a: 1\na: 2", "'a' occurs twice"),
        ("? [a, b]\n: 1", "key is not a plain text"),
        ("a: b: c", "not valid YAML"),
        ("a: 1\n---\nb: 2", "not valid YAML"),
        ("a: \x07", "not valid YAML"),
        ("a: '", "line 1"),
    ],
)
def test_hostile_yaml_is_refused(text: str, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        parse_yaml(text, limits=DEFAULT_LIMITS)


def test_yaml_scalars_stay_the_text_that_was_written() -> None:
    value = parse_yaml("a: no\nb: 1:30\nc: 2026-05-01\nd: 1.10\ne: 007", limits=DEFAULT_LIMITS)

    assert value == {"a": "no", "b": "1:30", "c": "2026-05-01", "d": "1.10", "e": "007"}


def test_yaml_scalars_have_types_where_types_are_wanted() -> None:
    value = read_yaml("{a: 1, b: '1', c: 1.5, d: true, e: ~, f: no, g: [2, x], h: 1e3, i: .nan}")

    assert (value["a"], value["b"], value["c"], value["d"], value["e"]) == (1, "1", 1.5, True, None)
    assert (value["f"], value["g"], value["h"], value["i"]) == ("no", [2, "x"], 1000.0, ".nan")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 100_000, "nested more than 64"),
        ('{"a":' * 100_000, "nested more than 64"),
        ('{"a": 1, "a": 2}', "'a' occurs twice"),
        ("NaN", "NaN is no JSON number"),
        ("[-Infinity]", "-Infinity is no JSON number"),
        ("1e999", "too large"),
        ("9" * 5_000, "not valid JSON"),
        ('{"a": }', "column 7"),
        ('"' + '\\"' * 400_000 + "[" * 100, "not valid JSON"),
        ("", "not valid JSON"),
    ],
)
def test_hostile_json_is_refused(text: str, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        parse_json(text, max_depth=64)


def test_brackets_inside_texts_are_not_nesting() -> None:
    assert parse_json('["' + "[" * 500 + '"]', max_depth=64) == ["[" * 500]


def test_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    path = write(tmp_path, "large.json", b" " * 2_000)

    with pytest.raises(RefusedError, match="2,000 bytes; the limit is 1,000"):
        read_text(path, tmp_path, limit=1_000)


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "latin.json", "é".encode("latin-1"))

    with pytest.raises(RefusedError, match="not UTF-8"):
        read_text(path, tmp_path, limit=1_000)


def test_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    path = write(tmp_path, "mark.json", b"\xef\xbb\xbf{}")

    assert read_text(path, tmp_path, limit=1_000) == "{}"


@pytest.mark.parametrize("target", ["../outside.txt", "inside.txt"])
def test_symbolic_link_is_refused(tmp_path: Path, target: str) -> None:
    root = tmp_path / "root"
    write(tmp_path, "outside.txt", "secret")
    write(root, "inside.txt", "plain")
    (root / "link.txt").symlink_to(target)

    with pytest.raises(RefusedError, match=r"leads out|symbolic link"):
        read_text(root / "link.txt", root, limit=1_000)


def test_file_in_a_linked_folder_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "outside/a.txt", "secret")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "linked").symlink_to(tmp_path / "outside")

    with pytest.raises(RefusedError, match="leads out"):
        read_text(tmp_path / "root" / "linked" / "a.txt", tmp_path / "root", limit=1_000)


def test_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")

    with pytest.raises(RefusedError, match="not a regular file"):
        read_text(tmp_path / "pipe.json", tmp_path, limit=1_000)


def test_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop.json").symlink_to("loop.json")

    with pytest.raises(RefusedError):
        read_text(tmp_path / "loop.json", tmp_path, limit=1_000)


def test_overlong_line_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, "lines.jsonl", b"one\n" + b"x" * 300 + b"\nthree\n" + b"y" * 100)
    limits = Limits(catalog_line=100)

    lines = list(read_lines(path, tmp_path, limits=limits))

    assert lines == [(1, b"one\n"), (2, None), (3, b"three\n"), (4, b"y" * 100)]
