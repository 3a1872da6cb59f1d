"""Removal of a person: afterwards no table names them, and figures stay."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from axes.models import AccessFailureLog
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.utils import timezone

from acl.keys.lifecycle import create_key
from acl.models import AuditEntry, Invitation, RightsPeriod, ScimRecord
from acl.people.people import PeopleRefused
from acl.people.personal_data import erase_person, export_person
from catalog.models import Capability, Rule
from catalog.models.personal import Memo
from discovery.models import Call, Chat, Outcome, Turn
from marketplace.models import NotificationChannel, NotificationDelivery
from tests.factories import UserFactory, give, lay_down

MARKER = "zebulonquartz"
SECRET = "zebulonsecret"


@pytest.fixture
def person(support: Group, gmail: Capability) -> User:
    """Return a person who left something of themselves in as many places as the product has."""
    person = UserFactory.create(
        username=MARKER, first_name=f"{MARKER}a", last_name=f"{MARKER}b",
        email=f"{MARKER}@example.org", groups=[support],
    )  # fmt: skip
    EmailAddress.objects.create(user=person, email=f"{MARKER}@example.org", verified=True)
    ScimRecord.objects.create(user=person, external_id=MARKER)
    Invitation.objects.create(
        email=f"{MARKER}@example.org", person=person, digest="d" * 64,
        expires_at=timezone.now() + timedelta(days=1),
    )  # fmt: skip
    create_key(by=None, name=f"key of {MARKER}", group=support, scopes=["select"], owner=person)
    AccessFailureLog.objects.create(username=MARKER)
    give(gmail, person)
    lay_down(Rule.Effect.DENY, gmail, support.spaces.get(parent=None), user=person)
    turn = Turn.objects.create(
        user=person, actor=person, key_name=MARKER, group=support, message=f"I am {MARKER}",
        tokens_all=9,
    )  # fmt: skip
    Outcome.objects.create(
        turn=turn, group=support, status="success", score=1, source="reported", note=MARKER,
        at=timezone.now(),
    )  # fmt: skip
    Call.objects.create(
        user=person, actor=person, group=support, full_name="gmail__send_email", side_effect="read",
        way="api", definition_hash="", arguments_hash="", state="failed", ended_at=timezone.now(),
        arguments_json=json.dumps({"to": MARKER}), result_json=json.dumps([MARKER]),
        message=MARKER, note=MARKER, idempotency_key=MARKER, flow={"verdict": MARKER},
    )  # fmt: skip
    Chat.objects.create(user=person, group=support)
    Memo.objects.create(user=person, text=f"I am {MARKER}", kind="fact")
    channel = NotificationChannel.objects.create(
        kind="mail", topics=["requests"], origin="http://localhost", mail_to="root@example.org"
    )
    NotificationDelivery.objects.create(
        channel=channel, event="request 1", topic="requests", message=f"{MARKER} asks",
        content={"title": f"{MARKER} asks for gmail", "who": f"{MARKER}@example.org"},
    )  # fmt: skip
    return person


# The log is append-only; its archive has its own term.
KEEPS_NAMES = {"acl_auditentry"}


def places_naming(marker: str) -> set[str]:
    """Return each column of text, JSON or an array whose rows have the marker."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE table_schema = 'public' AND (data_type IN ('text', 'character varying', 'json',"
            " 'jsonb', 'ARRAY') OR udt_name = 'citext')"
        )
        columns = cursor.fetchall()
        places = set()
        for table, column in columns:
            statement = f'SELECT EXISTS (SELECT FROM "{table}" WHERE "{column}"::text ~* %s)'  # noqa: S608
            cursor.execute(statement, [marker])
            if cursor.fetchone()[0] and table not in KEEPS_NAMES:
                places.add(f"{table}.{column}")
    return places


def by_service(admin: User, person: User) -> None:
    erase_person(by=admin, person=person)


def by_page(admin: User, person: User) -> None:
    client = Client()
    client.force_login(admin)
    client.post(f"/people/{person.pk}/deactivate/", {"erase": "yes"})


def by_api(admin: User, person: User) -> None:
    client = Client()
    client.force_login(admin)
    assert client.delete(f"/api/v1/people/{person.username}").status_code == 204


def by_scim(admin: User, person: User) -> None:
    _, raw = create_key(
        by=None, name="provider", group=None, all_groups=True, owner=admin, scopes=["scim"],
        acts_for_users=True,
    )  # fmt: skip
    client = Client(headers={"Authorization": f"Bearer {raw}"})
    assert client.delete(f"/scim/v2/Users/{person.pk}").status_code == 204


@pytest.mark.django_db
@pytest.mark.parametrize("way", [by_service, by_page, by_api, by_scim])
def test_no_table_names_a_removed_person_and_figures_stay(
    admin: User, person: User, way: Callable[[User, User], None]
) -> None:
    before = places_naming(MARKER)

    way(admin, person)

    assert len(before) > 15
    assert places_naming(MARKER) == set()
    person.refresh_from_db()
    assert (person.username, person.is_active) == (f"removed-{person.pk}", False)
    assert Turn.objects.get(user=person).tokens_all == 9
    assert Call.objects.filter(user=person, state="failed").exists()
    assert Outcome.objects.filter(turn__user=person, status="success").exists()
    assert RightsPeriod.objects.filter(table="auth_user", key=person.pk).exists()
    assert AuditEntry.objects.filter(action="person.erased", target=person.username).exists()


@pytest.mark.django_db
def test_an_export_has_everything_but_secrets(admin: User, person: User) -> None:
    person.set_password(SECRET)
    person.save()

    rows = export_person(by=admin, person=person)
    text = json.dumps(rows, default=str)

    assert {"auth_user", "account_emailaddress", "discovery_turn", "discovery_call"} <= set(rows)
    assert {"catalog_memo", "acl_apikey", "axes_accessfailurelog", "catalog_rule"} <= set(rows)
    assert f"I am {MARKER}" in text
    assert person.password not in text


@pytest.mark.django_db
def test_page_gives_the_export_as_a_file(admin: User, person: User) -> None:
    client = Client()
    client.force_login(admin)

    answer = client.get(f"/people/{person.pk}/?export")

    assert (
        answer.headers["Content-Disposition"] == f'attachment; filename="person-{person.pk}.json"'
    )
    assert answer.json()["auth_user"][0]["username"] == MARKER
    assert AuditEntry.objects.filter(action="person.exported").exists()


@pytest.mark.django_db
def test_nobody_removes_themselves_or_someone_with_more_power() -> None:
    staff = UserFactory.create(username="staff", is_staff=True)
    root = User.objects.create_superuser("rootmost")

    for by, whom in ((staff, staff), (staff, root)):
        with pytest.raises(PeopleRefused):
            erase_person(by=by, person=whom)
