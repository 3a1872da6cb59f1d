"""The People pages, for admins only, and the removal of a person."""

import json
from collections.abc import Callable
from datetime import timedelta
from io import StringIO

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from axes.models import AccessFailureLog
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from acl.keys.lifecycle import create_key
from acl.models import AuditEntry, Invitation, RightsPeriod, ScimRecord
from acl.people._invitations import invite
from acl.people.people import PeopleRefused, create_service_account, erase_person, export_person
from catalog.models import Capability, Rule
from catalog.models.personal import Memo
from discovery.models import Call, Chat, Outcome, Turn
from marketplace.models import NotificationChannel, NotificationDelivery
from tests.factories import GroupFactory, UserFactory, give, lay_down
from tests.people.conftest import SECRET, is_signed_in, sign_in_as
from tests.sessions import session_of


def test_list_tells_who_there_is(as_admin: Client, alice_with_codes: User) -> None:
    UserFactory.create(username="gone", is_active=False)

    text = as_admin.get("/people/").content.decode()

    for words in (
        "alice@example.com",
        "Support",
        "two-factor on",
        "never",
        "deactivated",
        "3 people",
    ):
        assert words in text, words


def test_service_accounts_are_marked_and_found(as_admin: Client, support: Group) -> None:
    what = "Answers mail at night"
    robot = create_service_account(by=None, name="robot", groups=[support], description=what)

    everyone = as_admin.get("/people/").content.decode()
    programs = as_admin.get("/people/?show=programs")
    without_codes = as_admin.get("/people/?show=no-codes")
    text = as_admin.get(f"/people/{robot.pk}/").content.decode()
    asked = as_admin.get(f"/people/{robot.pk}/deactivate/").content.decode()

    assert everyone.count("service account</span>") == 1
    assert "uses API keys" in everyone
    assert [one.username for one in programs.context["people"]] == ["robot"]
    assert [one.username for one in without_codes.context["people"]] == ["root"]
    assert "nobody can sign in as it" in text
    assert "Answers mail at night" in text
    assert "Two-factor authentication" not in text
    assert "Its keys will be refused from their next request." in asked


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"q": "ALICE@"}, {"alice"}),
        ({"q": "%"}, set()),
        ({"group": "Support"}, {"alice", "root"}),
        ({"show": "inactive"}, {"gone"}),
        ({"show": "admins"}, {"root"}),
        ({"show": "no-codes"}, {"root"}),
        ({"show": "nonsense", "page": "many"}, {"alice", "root", "gone"}),
    ],
)
def test_list_is_filtered(
    as_admin: Client, alice_with_codes: User, query: dict[str, str], found: set[str]
) -> None:
    UserFactory.create(username="gone", is_active=False)

    people = as_admin.get("/people/", query).context["people"]

    assert {person.username for person in people} == found


def test_list_takes_as_many_statements_for_twenty_as_for_two(as_admin: Client, admin: User) -> None:
    counts = []
    for number in (2, 18):
        for _ in range(number):
            group = GroupFactory.create()
            UserFactory.create(groups=[group])
            invite(by=admin, email=f"{group.name}@example.com", groups=[group])
        with CaptureQueriesContext(connection) as statements:
            as_admin.get("/people/")
        counts.append(len(statements))

    assert counts[0] == counts[1]


def test_a_long_list_has_pages(as_admin: Client) -> None:
    UserFactory.create_batch(60)

    text = as_admin.get("/people/?page=2").content.decode()

    assert "61 people" in text
    assert "Page 2 of 2" in text


def test_deactivating_is_asked_about_and_ends_sessions_for_good(
    as_admin: Client, alice: User
) -> None:
    session = sign_in_as("alice")
    page = as_admin.get(f"/people/{alice.pk}/deactivate/")
    assert "signed out everywhere" in page.content.decode()
    assert is_signed_in(session)

    as_admin.post(f"/people/{alice.pk}/deactivate/")

    assert not is_signed_in(session)
    assert not is_signed_in(sign_in_as("alice"))
    entry = AuditEntry.objects.get(action="person.deactivated")
    assert (entry.target, entry.details["sessions"]) == ("alice", 1)

    as_admin.post(f"/people/{alice.pk}/reactivate/")

    assert is_signed_in(sign_in_as("alice"))
    assert not is_signed_in(session)
    assert is_signed_in(as_admin)


def test_deactivating_in_the_admin_ends_sessions_as_well(as_admin: Client, alice: User) -> None:
    session = sign_in_as("alice")
    form = {"username": "alice", "email": alice.email, "groups": [], "user_permissions": []}
    saved = as_admin.post(f"/admin/auth/user/{alice.pk}/change/", form)
    assert saved.status_code == 302, saved.content.decode()

    User.objects.update(is_active=True)

    assert not is_signed_in(session)


def test_no_address_is_confirmed_by_hand_in_the_admin(as_admin: Client) -> None:
    for place in ("account/emailaddress", "mfa/authenticator", "socialaccount/socialaccount"):
        assert as_admin.get(f"/admin/{place}/").status_code == 404


def test_groups_are_changed_from_the_page(as_admin: Client, alice: User, support: Group) -> None:
    sales = GroupFactory.create(name="Sales")

    as_admin.post(f"/people/{alice.pk}/groups/", {"group": sales.pk})
    as_admin.post(f"/people/{alice.pk}/groups/{support.pk}/leave/")

    assert list(alice.groups.all()) == [sales]
    actions = AuditEntry.objects.filter(target="alice").order_by("pk")
    assert [entry.action for entry in actions] == ["person.joined_group", "person.left_group"]


def test_a_group_that_is_none_is_told(as_admin: Client, alice: User) -> None:
    assert as_admin.post(f"/people/{alice.pk}/groups/", {"group": "0"}).status_code == 422


def test_an_admin_helps_who_has_lost_the_phone(as_admin: Client, alice_with_codes: User) -> None:
    as_admin.post(f"/people/{alice_with_codes.pk}/codes/off/")

    assert is_signed_in(sign_in_as("alice"))
    assert AuditEntry.objects.filter(action="person.two_factor_off", target="alice").exists()


def test_the_command_helps_the_only_admin(alice_with_codes: User) -> None:
    call_command("turn_codes_off", "alice", stdout=StringIO())

    assert is_signed_in(sign_in_as("alice"))
    assert AuditEntry.objects.get(action="person.two_factor_off").by is None
    with pytest.raises(CommandError, match="no user named bob"):
        call_command("turn_codes_off", "bob")


def test_nobody_locks_themselves_out(as_admin: Client, admin: User) -> None:
    TOTP.activate(admin, SECRET)

    for path in ("deactivate", "codes/off"):
        as_admin.post(f"/people/{admin.pk}/{path}/")

    assert User.objects.get(pk=admin.pk).is_active
    assert Authenticator.objects.exists()


def test_only_who_may_do_everything_changes_those_who_may(admin: User, support: Group) -> None:
    clerk = UserFactory.create(is_staff=True)
    client = session_of(clerk)
    TOTP.activate(admin, SECRET)
    sales = GroupFactory.create()

    for path in ("deactivate/", "codes/off/", f"groups/{support.pk}/leave/"):
        client.post(f"/people/{admin.pk}/{path}")
    client.post(f"/people/{admin.pk}/groups/", {"group": sales.pk})
    client.post("/people/invite/", {"email": "eve@example.com", "role": "admin"})

    assert User.objects.get(pk=admin.pk).is_active
    assert list(admin.groups.all()) == [support]
    assert Authenticator.objects.exists()
    assert not Invitation.objects.exists()


MARKER = "zebulonquartz"
SECRET_OF_ERASURE = "zebulonsecret"


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
    client = session_of(admin)
    client.post(f"/people/{person.pk}/deactivate/", {"erase": "yes"})


def by_api(admin: User, person: User) -> None:
    client = session_of(admin)
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
    person.set_password(SECRET_OF_ERASURE)
    person.save()

    rows = export_person(by=admin, person=person)
    text = json.dumps(rows, default=str)

    assert {"auth_user", "account_emailaddress", "discovery_turn", "discovery_call"} <= set(rows)
    assert {"catalog_memo", "acl_apikey", "axes_accessfailurelog", "catalog_rule"} <= set(rows)
    assert f"I am {MARKER}" in text
    assert person.password not in text


@pytest.mark.django_db
def test_page_gives_the_export_as_a_file(admin: User, person: User) -> None:
    client = session_of(admin)

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
