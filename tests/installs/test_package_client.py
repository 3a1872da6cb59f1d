"""A real package client, stopped with all its processes on a timeout or a cancellation."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from marketplace.installs.packages import client
from marketplace.installs.packages.client import NoLongerWantedError, Watch, run_client
from marketplace.installs.packages.folders import Place, new_name
from marketplace.installs.packages.result import PackageProblemError
from tests.connections.evil_server import our_children

# A client that starts a process which would outlive it.
LASTING = """
import subprocess, sys
helper = subprocess.Popen(["sleep", "600"])
print("fetching", flush=True)
helper.wait()
"""
GROWING = """
import time
with open("fetched", "wb") as file:
    file.write(bytes(3 * 1024 * 1024))
time.sleep(600)
"""


@pytest.fixture
def place(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Place]:
    settings.PEGBOARD_DATA_DIR = tmp_path
    monkeypatch.setattr(client, "_LOOK_EVERY", 0.05)
    monkeypatch.setattr(client, "_MEASURE_EVERY", 0.05)
    place = Place(new_name())
    place.make()
    yield place
    assert our_children() == []


def run(place: Place, program: str, watch: Watch | None = None) -> tuple[int, str]:
    return run_client([sys.executable, "-I", "-c", program], place, watch or Watch())


def test_its_words_are_heard_and_its_end_is_told(place: Place) -> None:
    heard: list[str] = []

    ended = run(place, "print('one'); print('two'); raise SystemExit(3)", Watch(heard.append))

    assert ended == (3, "one\ntwo")
    assert set(heard) <= {"one", "two"}  # the last lines may arrive at its end


def test_who_takes_too_long_is_ended_with_all_that_it_started(
    place: Place, settings: Settings
) -> None:
    settings.PEGBOARD_PACKAGE_SECONDS = 1

    with pytest.raises(PackageProblemError, match="took too long") as problem:
        run(place, LASTING)

    assert problem.value.code == "package_too_slow"


def test_who_is_not_wanted_any_more_is_ended_with_all_that_it_started(place: Place) -> None:
    heard: list[str] = []

    with pytest.raises(NoLongerWantedError):
        run(place, LASTING, Watch(heard.append, lambda: not heard))

    assert heard == ["fetching"]


def test_who_fetches_too_much_is_ended(place: Place, settings: Settings) -> None:
    settings.PEGBOARD_PACKAGE_MEGABYTES = 2

    with pytest.raises(PackageProblemError, match="more than 2 MB") as problem:
        run(place, GROWING)

    assert problem.value.code == "package_too_large"
