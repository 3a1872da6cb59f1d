"""Limits outlive what they name, wait where a person sees them, and come back with it."""

from collections.abc import Callable

import pytest
from django.test import Client

from acl.models import AuditEntry
from catalog.access.kept_limits import lift, list_kept
from catalog.access.rules import remove_rule
from catalog.models import Capability, Integration, KeptLimit, Rule
from catalog.registration.definition_review import forget_gone
from marketplace.installs.integration_management import uninstall
from tests.factories import IntegrationFactory, give
from tests.pages.conftest import _folder_of_static_files, _plain_static_files
from tests.trust.reviewed_server import READ, WRITE, World

pytestmark = pytest.mark.django_db
FIXTURES = [_folder_of_static_files, _plain_static_files]
DENY, PROPOSE, ALLOW = Rule.Effect.DENY, Rule.Effect.PROPOSE, Rule.Effect.ALLOW


@pytest.fixture
def world() -> World:
    made = World()
    made.says(READ, WRITE, by=made.alice)
    return made


def deny(world: World, effect: int = DENY, **about: object) -> Rule:
    return Rule.objects.create(
        space=world.group.spaces.get(parent=None),
        effect=effect,
        **about,
    )


def install_again(world: World) -> None:
    world.notes = IntegrationFactory.create(slug="notes")
    give(world.notes, world.group)
    world.says(READ, WRITE, by=world.alice)


def uninstalled(world: World) -> None:
    uninstall(by=world.alice, integration=world.notes)
    install_again(world)


def deleted_in_bulk(world: World) -> None:
    Integration.objects.filter(slug="notes").delete()
    install_again(world)


def vanished_and_returned(world: World) -> None:
    world.says(WRITE)
    assert world.usable == ["write_note"]
    world.says(READ, WRITE)


def vanished_and_forgotten(world: World) -> None:
    world.says(WRITE)
    forget_gone(by=world.alice, integration=world.notes, names=["read_note"])
    world.says(READ, WRITE)
    world.approve("read_note")


WAYS = [uninstalled, deleted_in_bulk, vanished_and_returned, vanished_and_forgotten]


@pytest.mark.parametrize("come_back", WAYS)
def test_deny_of_a_tool_comes_back_with_it(
    world: World, come_back: Callable[[World], None]
) -> None:
    deny(world, capability=Capability.objects.get(action="read_note"))
    assert world.usable == ["write_note"]

    come_back(world)

    assert world.usable == ["write_note"]
    assert not KeptLimit.objects.exists()


@pytest.mark.parametrize("come_back", WAYS[:2])
def test_limits_of_an_integration_come_back_with_it(
    world: World, come_back: Callable[[World], None]
) -> None:
    deny(world, integration=world.notes)
    deny(world, PROPOSE, integration=world.notes, user_id=world.bob.user_id)
    deny(world, ALLOW, integration=world.notes)
    Integration.objects.filter(slug="notes").update(restricted=True)
    Capability.objects.filter(action="write_note").update(ai_access="blocked")

    come_back(world)

    there = Integration.objects.get(slug="notes")
    assert sorted(Rule.objects.values_list("effect", flat=True)) == [DENY, PROPOSE]
    assert there.restricted
    assert Capability.objects.get(action="write_note").ai_access == "blocked"
    assert world.usable == []


def test_what_a_person_deletes_is_not_kept(world: World) -> None:
    remove_rule(by=world.alice, rule=deny(world, integration=world.notes))
    rule = deny(world, capability=Capability.objects.get(action="read_note"))
    rule.space.group.delete()

    assert not KeptLimit.objects.exists()


def test_lifted_limit_does_not_come_back_and_is_in_the_log(world: World) -> None:
    deny(world, capability=Capability.objects.get(action="read_note"))
    uninstall(by=world.alice, integration=world.notes)

    lift(by=world.alice, limit=KeptLimit.objects.get())
    install_again(world)

    assert world.usable == ["read_note", "write_note"]
    assert AuditEntry.objects.filter(action="rule.lift", by=world.alice).count() == 1
    assert AuditEntry.objects.filter(action="rule.keep").count() == 1


def test_admins_see_what_waits_and_lift_it(world: World) -> None:
    deny(world, capability=Capability.objects.get(action="read_note"))
    uninstall(by=world.alice, integration=world.notes)
    browser = Client()
    browser.force_login(world.alice, "acl.people._backends.PasswordBackend")

    page = browser.get("/access/").content.decode()
    told = browser.get("/api/v1/access/kept-rules").json()
    answered = browser.post(f"/access/kept/{KeptLimit.objects.get().pk}/lift/")

    assert "notes__read_note" in page
    assert [(one["effect"], one["capability"]) for one in told["items"]] == [
        ("deny", "notes__read_note")
    ]
    assert answered.status_code == 302
    assert not list_kept().exists()


def test_tool_that_comes_back_under_another_name_waits_with_its_deny(world: World) -> None:
    deny(world, capability=Capability.objects.get(action="read_note"))
    uninstall(by=world.alice, integration=world.notes)

    world.notes = IntegrationFactory.create(slug="notes")
    give(world.notes, world.group)
    world.says({**READ, "name": "read_note_v2"}, WRITE, by=world.alice)

    assert world.usable == ["write_note"]
    world.approve("read_note_v2")
    assert world.usable == ["write_note"]
