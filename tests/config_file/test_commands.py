"""`manage.py export` and `manage.py apply`: output and exit codes."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command

from acl.models import AuditEntry
from catalog.access.grants import grant
from catalog.models import Capability

pytestmark = pytest.mark.django_db


def run(*words: str, **options: Any) -> tuple[int, str]:
    """Return the exit status of a command, and what it printed."""
    out = StringIO()
    try:
        call_command(*words, stdout=out, stderr=StringIO(), **options)
    except SystemExit as ended:
        return int(str(ended.code)), out.getvalue()
    return 0, out.getvalue()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pegboard.yaml"
    path.write_text("pegboard: 1\ngroups:\n  - name: Sales\n    default: open\n", encoding="utf-8")
    return path


def test_a_dry_run_exits_with_2_until_the_file_is_applied(file: Path) -> None:
    planned = run("apply", str(file), "--dry-run")
    applied = run("apply", str(file))
    nothing = run("apply", str(file), "--dry-run")

    assert planned[0] == 2
    assert planned[1].splitlines()[:2] == ["+ group Sales", "    default: open"]
    assert planned[1].endswith("Would change 2 entries, of which 0 deleted.\n")
    assert (applied[0], nothing) == (0, (0, "Nothing to change.\n"))


def test_json_names_each_change(file: Path, db: None) -> None:
    status, said = run("apply", str(file), "--dry-run", "--json")

    report = json.loads(said)
    assert status == 2
    assert report["dry_run"] is True
    assert report["changes"][0] == {
        "action": "create",
        "kind": "group",
        "name": "Sales",
        "fields": {"default": {"before": None, "after": "open"}},
    }


def test_an_error_exits_with_1(file: Path) -> None:
    file.write_text("pegboard: 1\ngroups:\n  - name: Sales\n    tools: [none]\n", encoding="utf-8")

    with pytest.raises(CommandError, match=r"line 4: groups\[0\]\.tools\[0\]: there is no tool"):
        call_command("apply", str(file))
    status, said = run("apply", str(file), "--json")

    assert status == 1
    assert json.loads(said)["errors"][0]["line"] == 4


def test_export_writes_what_apply_reads(
    tmp_path: Path, support: Group, send_email: Capability
) -> None:
    path = tmp_path / "out.yaml"

    run("export", str(path))

    assert run("apply", str(path), "--prune") == (0, "Nothing to change.\n")
    assert run("export")[1] == path.read_text(encoding="utf-8")
    with pytest.raises(CommandError, match="already exists"):
        call_command("export", str(path))


def test_export_without_people_names_none(alice: User, send_email: Capability) -> None:
    grant(by=None, target=send_email, user=alice)

    assert "alice" in run("export")[1]
    assert "alice" not in run("export", "--without-people")[1]


def test_an_admin_is_named_in_the_audit_log(file: Path) -> None:
    User.objects.create_superuser("root")

    run("apply", str(file), "--as", "root")

    assert AuditEntry.objects.get(action="configuration.apply").by_name == "root"
    with pytest.raises(CommandError, match="no active admin called nobody"):
        call_command("apply", str(file), "--as", "nobody")
