"""`manage.py load_capabilities`: one pass over the folders, for people and for scripts."""

import json
from pathlib import Path

import pytest
from django.core.management import call_command
from pytest_django import Settings

from catalog.models import Capability
from tests.registration.folders import LAMP, Folders

pytestmark = pytest.mark.django_db
BAD = "name: door\nkind: tool\n"


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Folders:
    """The folders of a person whose home and working folder are the test's own."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(here)
    settings.PEGBOARD_CAPABILITY_DIRS = ()
    return Folders(tmp_path / ".pegboard" / "capabilities", here / "capabilities")


def test_single_pass_reports_each_defect_and_loads_the_rest(
    folders: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    folders.put(LAMP)
    bad = folders.put(BAD, "door")

    call_command("load_capabilities")

    told = capsys.readouterr().err
    assert f"{bad}: description: is required" in told
    assert "1 new" in told
    assert Capability.objects.filter(full_name="lamp", available=True).exists()


def test_single_pass_answers_scripts(folders: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    folders.put(BAD, "door")

    with pytest.raises(SystemExit) as ended:
        call_command("load_capabilities", "--json")

    told = json.loads(capsys.readouterr().out)
    assert ended.value.code == 1
    assert [defect["field"] for defect in told["defects"]] == ["description"]
    assert str(folders.first) in told["folders"]
