"""Schedule of reading the folders: at the start, and again after failures."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from watchfiles import Change

from catalog.management.commands import watch_capabilities
from catalog.management.commands.watch_capabilities import follow


class Reader:
    """A reader with a limited number of readings, failing in the given ones."""

    def __init__(self, *answers: bool) -> None:
        self.stop = Event()
        self.answers = list(answers)

    def __call__(self) -> bool:
        answer = self.answers.pop(0)
        if not self.answers:
            self.stop.set()
        return answer


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_capabilities, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(watch_capabilities, "TICK", 0.01)


@pytest.mark.parametrize("is_there", [True, False])
def test_reading_that_failed_is_repeated(tmp_path: Path, is_there: bool) -> None:
    reader = Reader(False, False, True)

    follow(lambda: [tmp_path if is_there else tmp_path / "none"], reader, stop=reader.stop)

    assert reader.answers == []


def test_system_that_gives_no_watches_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*folders: Path, **options: Any) -> Iterator[Any]:
        raise OSError("OS file watch limit reached")

    monkeypatch.setattr(watch_capabilities, "watch", refuse)
    reader = Reader(True, True, True)

    follow(lambda: [tmp_path], reader, stop=reader.stop)

    assert reader.answers == []


@pytest.mark.parametrize(
    ("name", "matters"),
    [
        ("CAPABILITY.yaml", True),
        ("SKILL.md", True),
        ("schema.json", True),
        (".CAPABILITY.yaml.swp", False),
        ("CAPABILITY.yaml~", False),
        ("#CAPABILITY.yaml#", False),
        (".#CAPABILITY.yaml", False),
        ("4913", False),
    ],
)
def test_editors_temporary_files_wake_nobody(name: str, matters: bool) -> None:
    assert watch_capabilities._is_relevant(Change.added, f"/folder/{name}") is matters
