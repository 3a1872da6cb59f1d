"""Second looks at failed tests, and benches beside the commit before."""

import json
from pathlib import Path

import pytest

from lab.bench.before import compare, rows_of
from lab.bench.cost import HEAD
from tests import second_look


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one test, passing as soon as something is there."""
    text = "from pathlib import Path\n\n\ndef test_it():\n    assert Path('there').exists()\n"
    (tmp_path / "test_one.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DJANGO_SETTINGS_MODULE", raising=False)
    return tmp_path


def look_at(project: Path, failed: int, code: int = 1) -> int:
    kept = project / "failed"
    kept.write_text(json.dumps(["test_one.py::test_it"] * failed))
    return second_look.main(code, kept)


def test_what_passes_alone_is_named(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (project / "there").touch()

    code = look_at(project, 1)

    assert code == 0
    assert capfd.readouterr().out.endswith("Find the cause of:\n  test_one.py::test_it\n")


def test_what_fails_again_has_failed(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = look_at(project, 1)

    assert code == 1
    assert "FAILED test_one.py::test_it" in capfd.readouterr().out


@pytest.mark.parametrize(("failed", "code"), [(4, 1), (0, 1), (1, 2), (1, 3)])
def test_many_failures_and_broken_runs_get_none(project: Path, failed: int, code: int) -> None:
    (project / "there").touch()

    assert look_at(project, failed, code) == code


def told(*figures: tuple[float, int]) -> str:
    """Return what `lab.bench.cost` prints of runs with these requests per second and CPU."""
    lines = (
        f"| 8 | 100 | {'2 x reset' if cpu > 50 else 0} | {rate} | 1.0 | 2.0 | 4.0 | 5.0 | 0.1 | 0.2"
        f" | {cpu} |"
        for rate, cpu in figures
    )
    return "\n".join(["A machine", "", HEAD, *lines])


def test_medians_of_the_turns_are_compared() -> None:
    before, now = told((40, 20), (50, 60), (60, 24)), told((90, 12))

    table = compare(rows_of(before), rows_of(now)).splitlines()

    assert table[2:] == [
        "| 8 | before | 50.0 | 1.0 | 4.0 | 5.0 | 24.0 | 2 x reset |",
        "| 8 | now | 90.0 | 1.0 | 4.0 | 5.0 | 12.0 | 0 |",
        "| 8 | ratio | 1.80 | 1.00 | 1.00 | 1.00 | 0.50 |  |",
    ]


def test_text_without_a_table_has_no_rows() -> None:
    assert rows_of("A machine\n") == []
