"""Service accounts: users for programs, with rights and keys, but without sign-in."""

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import Error, transaction
from django.test import RequestFactory

from acl.models import AuditEntry, ServiceAccount
from acl.people.people import ServiceAccountRefused, create_service_account, person_to_link
from acl.rights.caller_lookup import Caller
from catalog.models import Capability
from tests.access.people import People
from tests.web.conftest import client_with, new_key


@pytest.fixture
def robot(people: People) -> User:
    return create_service_account(
        by=None, name="robot", groups=[people.support], description="Answers mail at night"
    )


def test_account_uses_what_its_group_has(robot: User, people: People) -> None:
    usable = Capability.objects.usable_by(Caller(robot.pk, people.support.pk))

    assert people.send in usable
    assert people.pay not in usable


def test_key_can_belong_to_it(robot: User, people: People) -> None:
    raw = new_key(people.support, owner=robot, acts_for_users=False)

    answer = client_with(raw).post("/api/v1/select", {"message": "hi"}, "application/json")

    assert answer.status_code == 200


def test_its_making_is_in_the_audit_log(robot: User, people: People) -> None:
    entry = AuditEntry.objects.get(action="service_account.created")

    assert (entry.by, entry.target, entry.details["groups"]) == (None, "robot", ["support"])


@pytest.mark.parametrize("password", ["", "!", "robot", None])
def test_no_password_signs_it_in(robot: User, password: str | None) -> None:
    given = {"username": "robot", "password": password or robot.password}

    assert not robot.has_usable_password()
    assert authenticate(RequestFactory().post("/sign-in/"), **given) is None


def test_whoever_sets_a_password_is_told_that_it_has_none(robot: User, people: People) -> None:
    strong = "correct horse battery"
    with pytest.raises(ValidationError, match="no password"):
        validate_password(strong, user=robot)

    validate_password(strong, user=people.alice)
    validate_password(strong, user=User(username="dora"))  # a user about to be created


def test_no_provider_signs_it_in(robot: User, people: People) -> None:
    for user in (robot, people.bob):
        EmailAddress.objects.create(user=user, email=f"{user}@example.com", verified=True)

    assert person_to_link(["robot@example.com"]) is None
    assert person_to_link(["bob@example.com"]) == people.bob


def test_database_lets_it_have_no_password(robot: User) -> None:
    robot.set_password("correct horse battery")

    with pytest.raises(Error, match="no password"), transaction.atomic():
        robot.save()


def test_person_with_a_password_is_made_no_service_account(people: People) -> None:
    people.alice.set_password("correct horse battery")
    people.alice.save()

    with pytest.raises(Error, match="no password"), transaction.atomic():
        ServiceAccount.objects.create(user=people.alice)


def test_people_change_their_passwords_as_ever(people: People) -> None:
    people.alice.set_password("correct horse battery")
    people.alice.save()

    assert User.objects.get(pk=people.alice.pk).check_password("correct horse battery")


@pytest.mark.parametrize("name", ["alice", "", "two words", "x" * 151])
def test_name_that_cannot_be_is_refused(people: People, name: str) -> None:
    with pytest.raises(ServiceAccountRefused):
        create_service_account(by=None, name=name, groups=[people.support])

    assert not ServiceAccount.objects.exists()


def test_account_that_is_deleted_takes_its_keys_along(robot: User, people: People) -> None:
    raw = new_key(people.support, owner=robot, acts_for_users=False)

    robot.delete()

    assert client_with(raw).post("/api/v1/select", {"message": "hi"}).status_code == 401
