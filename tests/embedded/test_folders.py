"""The data folder and its lock."""

import os
import stat
from pathlib import Path

import pytest

from marketplace.operate.embedded.data_folder import (
    CannotRun,
    Lock,
    open_data_folder,
    read_or_create_key,
    run_folder,
)


def test_second_lock_on_a_folder_is_refused(tmp_path: Path) -> None:
    Lock(tmp_path).acquire()

    with pytest.raises(
        CannotRun, match=rf"Another Pegboard \(process {os.getpid()}\) already runs"
    ):
        Lock(tmp_path).acquire()


def test_released_lock_can_be_taken_again(tmp_path: Path) -> None:
    lock = Lock(tmp_path)
    lock.acquire()
    lock.release()

    Lock(tmp_path).acquire()

    assert (tmp_path / "lock").read_text() == str(os.getpid())


def test_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(CannotRun, match="cannot be written"):
        open_data_folder(tmp_path / "file" / "data")


def test_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = tmp_path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)

    with pytest.raises(CannotRun, match="belongs to another user"):
        open_data_folder(tmp_path)


def test_what_an_earlier_version_left_open_is_closed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    open_data_folder(data)
    schedule = data / "beat-schedule"
    schedule.touch(mode=0o644)

    open_data_folder(data)

    assert schedule.stat().st_mode & 0o777 == 0o600


def test_key_is_made_once_and_private(tmp_path: Path) -> None:
    key = read_or_create_key(tmp_path, "secret_key")

    assert read_or_create_key(tmp_path, "secret_key") == key
    assert len(key) >= 50
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["deep/" * 30, "with space", "100%", "naïve"])
def test_sockets_of_awkward_paths_are_elsewhere(tmp_path: Path, name: str) -> None:
    folder = run_folder(tmp_path / name)

    assert len(str(folder)) < 60
    assert folder == run_folder(tmp_path / name)
    assert folder != run_folder(tmp_path / name / "other")


def test_sockets_are_in_the_data_folder_if_they_can() -> None:
    assert run_folder(Path("/srv/pegboard/.pegboard")) == Path("/srv/pegboard/.pegboard/run")
