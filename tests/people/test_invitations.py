"""Invitations, the only way to an account; leaving and deactivation take effect at once."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from acl.keys.lifecycle import create_key
from acl.models import AuditEntry, Invitation
from acl.people._invitations import accept, invite, withdraw
from acl.people.people import PeopleRefused, add_to_group, deactivate, reactivate, take_out_of_group
from acl.platform.mail import delivers_mail
from catalog.models import Capability
from tests.factories import GroupFactory, UserFactory, give
from tests.people.conftest import is_signed_in, mails, sign_in_as

PASSWORD = "something long and new"
FORM = {"username": "dora", "password1": PASSWORD, "password2": PASSWORD}


@pytest.fixture
def raw(admin: User, support: Group) -> str:
    """The secret of dora's link."""
    return invite(by=admin, email="Dora@Example.com", groups=[support])[1]


def test_admin_invites_and_the_link_makes_an_account(
    as_admin: Client, admin: User, support: Group, settings: Settings
) -> None:
    settings.PEGBOARD_LANGUAGE = "es"
    form = {"email": "dora@example.com", "groups": [support.pk], "role": "member"}
    shown = as_admin.post("/people/invite/", form)
    link = re.search(r"/invitation/[\w-]+/", shown.content.decode())
    assert link is not None
    dora = Client()

    answer = dora.post(link.group(), FORM)

    person = User.objects.get(username="dora")
    assert answer["Location"] == "/tools/"
    assert is_signed_in(dora)
    assert list(person.groups.all()) == [support]
    assert not person.is_staff
    assert EmailAddress.objects.get(user=person).verified
    assert is_signed_in(sign_in_as("dora", PASSWORD))
    assert "no-store" in shown["Cache-Control"]
    assert link.group() in str(mails()[0].body)
    assert mails()[0].to == ["dora@example.com"]
    assert mails()[0].subject == "Su invitación a Pegboard"
    entries = AuditEntry.objects.filter(action__in=["person.invited", "invitation.accepted"])
    assert {(entry.action, entry.by) for entry in entries} == {
        ("person.invited", admin),
        ("invitation.accepted", person),
    }


def test_the_log_of_requests_lets_nobody_in(
    raw: str, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "acl.web.problems"):
        client.get(f"/invitation/{raw}/")

    assert "/invitation/…/" in caplog.text
    assert raw not in caplog.text


def test_only_a_digest_is_stored(raw: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT i::text FROM acl_invitation i")
        rows = cursor.fetchall()

    assert len(rows) == 1
    assert raw not in str(rows)


def used(raw: str) -> None:
    accept(raw=raw, username="first", password=PASSWORD)


def withdrawn(raw: str) -> None:
    withdraw(by=User.objects.get(username="root"), invitation=Invitation.objects.get())


def expired(raw: str) -> None:
    Invitation.objects.update(expires_at=timezone.now())


def replaced(raw: str) -> None:
    invite(by=User.objects.get(username="root"), email="dora@example.com", groups=[])


def sender_is_gone(raw: str) -> None:
    boss = User.objects.create_superuser("boss")
    deactivate(by=boss, person=User.objects.get(username="root"))


def sender_is_no_admin_any_more(raw: str) -> None:
    User.objects.filter(username="root").update(is_staff=False, is_superuser=False)


ENDS = [used, withdrawn, expired, replaced, sender_is_gone, sender_is_no_admin_any_more]


@pytest.mark.parametrize("end", ENDS)
def test_ended_link_is_answered_like_one_that_never_was(raw: str, end: object) -> None:
    end(raw)  # type: ignore[operator]

    answers = {
        (answer.status_code, answer.content)
        for path in (raw, "no-such-secret")
        for answer in (Client().get(f"/invitation/{path}/"), post(path, FORM))
    }

    assert len(answers) == 1
    assert next(iter(answers))[0] == 404
    assert not User.objects.filter(username="dora").exists()


def test_link_ends_by_itself(raw: str) -> None:
    link, older = invite(by=User.objects.get(username="root"), email="emil@example.com", groups=[])
    begun = Invitation.objects.get(pk=link.pk).expires_at - timedelta(
        days=7
    )  # by the database's clock
    Invitation.objects.filter(pk=link.pk).update(expires_at=begun - timedelta(minutes=1))

    assert Client().get(f"/invitation/{older}/").status_code == 404
    assert Client().get(f"/invitation/{raw}/").status_code == 200


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"username": "ROOT"}, "This name is already taken."),
        ({"username": "do ra"}, "Use letters, digits"),
        ({"username": ""}, "Choose a user name."),
        ({"password1": "short", "password2": "short"}, "too short"),
        ({"password2": "another"}, "The passwords do not match."),
        ({"password1": "dora@example.com", "password2": "dora@example.com"}, "too similar"),
    ],
)
def test_what_cannot_be_is_told_beside_the_field(
    raw: str, changed: dict[str, str], words: str
) -> None:
    answer = post(raw, {**FORM, **changed})

    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert Invitation.objects.get().accepted_at is None


def test_who_is_signed_in_is_asked_to_sign_out_first(raw: str, as_alice: Client) -> None:
    answer = as_alice.post(f"/invitation/{raw}/", FORM)

    assert "You are already signed in" in answer.content.decode()
    assert not User.objects.filter(username="dora").exists()


def test_an_address_that_someone_has_is_not_invited(admin: User, alice: User) -> None:
    with pytest.raises(PeopleRefused, match="already an account with this address"):
        invite(by=admin, email="Alice@example.com", groups=[])


def test_an_address_taken_meanwhile_ends_the_invitation(raw: str) -> None:
    UserFactory.create(email="dora@example.com")

    assert "is no longer valid" in post(raw, FORM).content.decode()


def test_admins_are_invited_by_who_may_do_everything(admin: User) -> None:
    clerk = UserFactory.create(is_staff=True)
    with pytest.raises(PeopleRefused):
        invite(by=clerk, email="eve@example.com", groups=[], role="admin")

    _, raw = invite(by=admin, email="eve@example.com", groups=[], role="admin")
    person = accept(raw=raw, username="eve", password=PASSWORD)

    assert person.is_superuser


def test_an_invitation_as_admin_ends_when_its_sender_may_not_any_more(admin: User) -> None:
    _, raw = invite(by=admin, email="eve@example.com", groups=[], role="admin")
    User.objects.filter(pk=admin.pk).update(is_superuser=False)

    with pytest.raises(PeopleRefused):
        accept(raw=raw, username="eve", password=PASSWORD)


def test_withdrawing_from_the_page(as_admin: Client, raw: str) -> None:
    as_admin.post(f"/people/invitations/{Invitation.objects.get().pk}/withdraw/")

    assert Client().get(f"/invitation/{raw}/").status_code == 404
    assert AuditEntry.objects.filter(action="invitation.withdrawn").count() == 1


def post(raw: str, form: dict[str, str]) -> Any:
    return Client().post(f"/invitation/{raw}/", form)


MESSAGE = "write an email to someone"


@pytest.fixture
def key(support: Group, alice: User, gmail: Capability) -> Client:
    """A key of a chat backend for the group."""
    _, raw = create_key(
        by=None, name="chat", group=support, scopes=["select", "discover"], acts_for_users=True
    )
    return Client(headers={"Authorization": f"Bearer {raw}"})


def shows_gmail(client: Client, **body: str) -> tuple[bool, bool]:
    """Return True for gmail in select and in the lists."""
    asked = json.dumps({"message": MESSAGE, **body})
    selected = client.post("/api/v1/select", asked, content_type="application/json")
    listed = client.get("/api/v1/names", body)
    return tuple("gmail" in answer.content.decode() for answer in (selected, listed))  # type: ignore[return-value]


def test_leaving_takes_effect_in_select_and_in_my_tools(
    key: Client, admin: User, alice: User, support: Group
) -> None:
    session = sign_in_as("alice")
    assert shows_gmail(key, user="alice") == shows_gmail(session) == (True, True)
    assert "gmail" in session.get("/tools/").content.decode()

    take_out_of_group(by=admin, person=alice, group=support)

    assert shows_gmail(key, user="alice") == shows_gmail(session) == (False, False)
    assert "gmail" not in session.get("/tools/").content.decode()
    assert session.get("/tools/gmail__send_email/").status_code == 404


def test_a_chosen_group_is_not_kept_by_the_session(
    key: Client, admin: User, alice: User, support: Group
) -> None:
    for name in ("Aardvarks", "Badgers"):
        add_to_group(by=admin, person=alice, group=GroupFactory.create(name=name))
    session = sign_in_as("alice")
    session.post("/group/", {"group": support.pk})
    assert "gmail" in session.get("/tools/").content.decode()

    take_out_of_group(by=admin, person=alice, group=support)

    page = session.get("/tools/").content.decode()
    assert "Aardvarks" in page
    assert "gmail" not in page


def test_joining_takes_effect_as_soon(
    key: Client, admin: User, bob: User, support: Group, gmail: Capability
) -> None:
    session = sign_in_as("bob")
    assert shows_gmail(session, group="Support") == (False, False)

    add_to_group(by=admin, person=bob, group=support)

    assert shows_gmail(session, group="Support") == (True, True)


def test_deactivation_takes_effect_everywhere(
    key: Client, admin: User, alice: User, support: Group, gmail: Capability
) -> None:
    give(gmail.integration, alice)
    _, raw = create_key(by=None, name="own", group=support, scopes=["select"], owner=alice)
    own = Client(headers={"Authorization": f"Bearer {raw}"})
    session = sign_in_as("alice")

    deactivate(by=admin, person=alice)

    assert shows_gmail(key, user="alice") == (False, False)
    assert shows_gmail(own) == (False, False)
    assert session.get("/tools/").status_code == 302
    assert session.get("/api/v1/names").status_code == 401

    reactivate(by=admin, person=alice)

    assert shows_gmail(key, user="alice") == (True, True)
    assert session.get("/tools/").status_code == 302


@pytest.mark.parametrize("backend", ["smtp", "locmem", "console", "dummy"])
def test_the_form_says_whether_a_mail_goes_out(
    as_admin: Client, settings: Settings, backend: str
) -> None:
    settings.EMAIL_BACKEND = f"django.core.mail.backends.{backend}.EmailBackend"

    form = as_admin.get("/people/invite/").content.decode()

    assert ("by e-mail" in form, "a link to pass on" in form) == (
        delivers_mail(),
        not delivers_mail(),
    )
