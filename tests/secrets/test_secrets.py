"""SEC-1: stored secrets are useless without the key; a wrong key is an error, never a value."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.db.models import Model
from pytest_django.fixtures import Settings

from acl.models import AuditEntry
from catalog.models import Integration, Secret
from catalog.servers.secrets.encryption_keys import FILE, SecretUnavailableError
from catalog.servers.secrets.sealed_values import values_for
from catalog.servers.secrets.store import (
    UnusableSecretError,
    forget_secret,
    list_secret_states,
    set_secret,
)
from tests.factories import IntegrationFactory, UserFactory

CANARY = "canary-Zx81-value"
OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return UserFactory.create(username="alice")


@pytest.fixture
def mail(settings: Settings) -> Integration:
    settings.PEGBOARD_ENCRYPTION_KEYS = (OLD,)
    return IntegrationFactory.create(
        slug="mail", required_secrets=["TOKEN", "PASSWORD"], own_secrets=True
    )


def test_secret_is_kept_sealed_and_told_to_workers_only(alice: User, mail: Integration) -> None:
    set_secret(integration=mail, name="TOKEN", value="before", by=alice)
    set_secret(integration=mail, name="TOKEN", value=CANARY, by=alice)
    set_secret(integration=mail, name="TOKEN", value="of alice", by=alice, user=alice)

    stored = _everything_stored()

    assert CANARY not in stored
    assert "of alice" not in stored
    assert values_for(mail) == {"TOKEN": CANARY}
    assert values_for(mail, user_id=alice.pk) == {"TOKEN": "of alice"}
    mail.own_secrets = False  # people's own are kept, but not used
    assert values_for(mail, user_id=alice.pk) == {"TOKEN": CANARY}
    assert [(state.name, bool(state.set_at)) for state in list_secret_states(mail)] == [
        ("TOKEN", True),
        ("PASSWORD", False),
    ]
    assert CANARY not in repr(list_secret_states(mail)) + repr(list(Secret.objects.values()))


def _everything_stored() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT encode(sealed, 'escape') FROM catalog_secret")
        rows = [str(row) for row in cursor.fetchall()]
    entries = AuditEntry.objects.values("action", "target", "details")
    return "".join(rows) + json.dumps(list(entries))


def test_keys_are_changed_without_losing_a_secret(
    alice: User, mail: Integration, settings: Settings
) -> None:
    set_secret(integration=mail, name="TOKEN", value=CANARY, by=alice)
    settings.PEGBOARD_ENCRYPTION_KEYS = (NEW, OLD)

    told = StringIO()
    call_command("rotate_secrets", "--json", stdout=told)
    settings.PEGBOARD_ENCRYPTION_KEYS = (NEW,)

    assert json.loads(told.getvalue()) == {"sealed": 1, "lost": []}
    assert values_for(mail) == {"TOKEN": CANARY}


def test_wrong_or_missing_key_is_an_error(
    alice: User, mail: Integration, settings: Settings, tmp_path: Path
) -> None:
    set_secret(integration=mail, name="TOKEN", value=CANARY, by=alice)
    settings.PEGBOARD_DATA_DIR = tmp_path

    for keys in ((NEW,), (), ("no key",)):
        settings.PEGBOARD_ENCRYPTION_KEYS = keys
        with pytest.raises(SecretUnavailableError) as problem:
            values_for(mail)
        assert problem.value.code == "secret_unavailable"
        assert CANARY not in str(problem.value)
    settings.PEGBOARD_ENCRYPTION_KEYS = (NEW,)
    with pytest.raises(CommandError, match="1 secrets no longer have a key"):
        call_command("rotate_secrets", verbosity=0, stdout=StringIO())


@pytest.mark.parametrize("change", [{"name": "OTHER"}, {"integration": None}, {"user": None}])
def test_sealed_bytes_open_in_their_own_row_only(
    alice: User, mail: Integration, change: dict[str, Any]
) -> None:
    set_secret(integration=mail, name="TOKEN", value=CANARY, by=alice, user=alice)
    moved: dict[str, str | Model | None] = (
        {"integration": IntegrationFactory.create(own_secrets=True)}
        if "integration" in change
        else change
    )

    Secret.objects.update(**moved)

    row = Secret.objects.get()
    with pytest.raises(SecretUnavailableError, match="for another use"):
        values_for(row.integration, user_id=row.user_id)


def test_key_file_is_made_changed_and_private(
    alice: User, mail: Integration, settings: Settings, tmp_path: Path
) -> None:
    settings.PEGBOARD_ENCRYPTION_KEYS, settings.PEGBOARD_DATA_DIR = (), tmp_path
    call_command("rotate_secrets", "--new-key", verbosity=0, stdout=StringIO())
    first = (tmp_path / FILE).read_text()
    set_secret(integration=mail, name="TOKEN", value=CANARY, by=alice)

    call_command("rotate_secrets", "--new-key", "--forget-old", verbosity=0, stdout=StringIO())

    assert first not in (tmp_path / FILE).read_text()
    assert values_for(mail) == {"TOKEN": CANARY}
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_one_secret_of_a_name_and_none_that_cannot_be_sent(alice: User, mail: Integration) -> None:
    set_secret(integration=mail, name="TOKEN", value="-----BEGIN-----\nx\n", by=alice)

    for value in ("", "a\x00b", "a\x1b[2J", "x" * 16_385):
        with pytest.raises(UnusableSecretError):
            set_secret(integration=mail, name="TOKEN", value=value, by=alice)
    for name in ("", "oauth:token", "x" * 121):
        with pytest.raises(UnusableSecretError):
            set_secret(integration=mail, name=name, value="x", by=alice)
    with pytest.raises(IntegrityError), transaction.atomic():
        Secret.objects.create(integration=mail, name="TOKEN", sealed=b"")

    assert forget_secret(integration=mail, name="TOKEN", by=alice)
    assert not forget_secret(integration=mail, name="TOKEN", by=alice)
    assert values_for(mail) == {}
