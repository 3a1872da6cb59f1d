"""Backed up, destroyed, restored: by the commands, on a database of its own."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db.migrations.recorder import MigrationRecorder
from pytest_django.fixtures import Settings

from acl.rights.caller_lookup import Caller
from catalog.embedding.jobs import embed_pending
from catalog.models import Integration, Secret
from catalog.servers.secrets.sealed_values import seal, unseal
from discovery.select.selection import SelectRequest
from discovery.select.selector import select_capabilities
from marketplace.operate.backups import databases
from marketplace.operate.roles.owner import as_owner
from tests.catalog.builders import store, tool
from tests.factories import GroupFactory, UserFactory, give

pytestmark = pytest.mark.usefixtures("own_database")
KEY, OTHER = Fernet.generate_key().decode(), Fernet.generate_key().decode()


@pytest.fixture
def file(tmp_path: Path, settings: Settings) -> Path:
    """Path of a future backup, with two tools that alice may use and a sealed secret."""
    settings.PEGBOARD_ENCRYPTION_KEYS = (KEY,)
    store(tool("send_email"), tool("read_calendar"))
    embed_pending()
    group = GroupFactory.create(name="support")
    UserFactory.create(username="alice", groups=[group])
    server = Integration.objects.get()
    give(server, group)
    row = Secret(integration=server, name="token")
    row.sealed = seal("hush", purpose=row.purpose)
    row.save()
    return tmp_path / "all.pegboard"


def test_what_was_destroyed_is_back(file: Path, settings: Settings) -> None:
    before = selected()

    made = command("backup", file)
    refuse("already exists", "backup", file)
    Integration.objects.all().delete()
    refuse("is not empty. Replace it with --yes", "restore", file)
    settings.PEGBOARD_ENCRYPTION_KEYS = (OTHER,)
    refuse(
        "1 sealed secrets of the backup need a key that is not configured", "restore", file, "--yes"
    )
    assert not Secret.objects.exists()  # a refused restore changes nothing
    settings.PEGBOARD_ENCRYPTION_KEYS = (OTHER, KEY)
    restored = command("restore", file, "--yes")

    assert selected() == before
    row = Secret.objects.get()
    assert unseal(bytes(row.sealed), purpose=row.purpose) == "hush"
    assert (restored["secrets_readable"], restored["secrets_lost"]) == (1, 0)
    assert file.stat().st_mode & 0o777 == 0o600
    assert made["keys_inside"] is False
    assert KEY.encode() not in file.read_bytes()
    with databases.connected_to(restored["kept_as"]):
        assert not Integration.objects.exists()  # as it was just before
    call_command("verify_audit", verbosity=0)


def test_empty_database_is_filled_and_lost_secrets_are_told(
    file: Path, settings: Settings, own_database: str
) -> None:
    command("backup", file)
    settings.PEGBOARD_ENCRYPTION_KEYS = (OTHER,)
    with as_owner():
        databases.create_database(f"{own_database}_empty")

    with databases.connected_to(f"{own_database}_empty"):
        restored = command("restore", file, "--lose-secrets")

        assert Integration.objects.count() == 1
    assert (restored["secrets_readable"], restored["secrets_lost"]) == (0, 1)
    assert restored["kept_as"] == ""


def test_damaged_file_is_not_restored(file: Path) -> None:
    command("backup", file)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    for damaged in (bytes(content), bytes(content[:-4000]), b"no backup", b""):
        file.write_bytes(damaged)

        with pytest.raises(
            CommandError, match=r"does not match its checksum|is not a complete Pegboard backup"
        ):
            call_command("restore", str(file), "--yes", "--json")

    assert Integration.objects.exists()


def test_backup_of_a_later_pegboard_is_refused(file: Path, own_database: str) -> None:
    with as_owner():
        MigrationRecorder.Migration.objects.create(app="catalog", name="9999_later")

    command("backup", file)

    refuse("has tables unknown to this version (catalog.9999_later)", "restore", file, "--yes")


def command(*words: Any) -> Any:
    told = io.StringIO()
    call_command(*map(str, words), "--json", stdout=told)
    return json.loads(told.getvalue())


def refuse(sentence: str, *words: Any) -> None:
    with pytest.raises(CommandError) as refusal:
        call_command(*map(str, words), "--json")

    assert sentence in str(refusal.value)


def selected() -> list[tuple[str, float]]:
    alice = User.objects.get(username="alice")
    caller = Caller(user_id=alice.pk, group_id=alice.groups.get().pk)
    told = select_capabilities(SelectRequest(message="send an email", caller=caller))
    return [(each.full_name, each.score) for each in told.selected]
