"""Limits outlive what they name, wait where a person sees them, and come back with it."""

from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone

from acl.models import AuditEntry
from catalog.access.kept_limits import KEPT_TABLES, lift, list_kept
from catalog.access.rules import remove_rule
from catalog.models import Capability, Integration, KeptLimit, Rule
from catalog.registration.definition_review import forget_gone
from catalog.registration.tool_renames import CARRIED
from discovery.calls.quotas import call_limits, count_use, set_call_limit
from discovery.models import Call, FlowRule, Quota
from marketplace.installs.integration_management import uninstall
from tests.factories import IntegrationFactory, give
from tests.trust.reviewed_server import READ, WRITE, World

pytestmark = pytest.mark.django_db
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


def called(world: World, row: Capability) -> None:
    Call.objects.create(
        user_id=world.bob.user_id,
        group=world.group,
        capability=row,
        full_name=row.full_name,
        side_effect="read",
        way="client",
        state="completed",
        ended_at=timezone.now(),
    )


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


def tool(name: str = "read_note") -> Capability:
    return Capability.objects.get(action=name)


def used(world: World) -> list[tuple[int, int]]:
    quotas = Quota.objects.select_related("capability").order_by("hard")
    return [(one.quota.hard or 0, one.used) for one in count_use(list(quotas), user_id=None)]


@pytest.mark.parametrize("come_back", WAYS)
def test_quotas_with_their_use_and_flow_rules_come_back_with_a_tool(
    world: World, come_back: Callable[[World], None]
) -> None:
    for each in ({"user_id": world.bob.user_id, "group": world.group}, {"each_person": True}):
        Quota.objects.create(capability=tool(), measure="calls", hard=3 + len(each), **each)
    FlowRule.objects.create(capability=tool(), mode="refuse", group=world.group)
    FlowRule.objects.create(capability=tool(), mode="off", space=world.group.spaces.get())
    for name in ("read_note", "read_note", "write_note"):
        called(world, tool(name))
    assert used(world) == [(4, 2), (5, 2)]

    come_back(world)

    assert used(world) == [(4, 2), (5, 2)]
    assert [row.mode for row in FlowRule.objects.exclude(mode="off")] == ["refuse"]
    assert not KeptLimit.objects.exists()


def test_each_limit_that_comes_back_is_in_the_log(world: World) -> None:
    deny(world, integration=world.notes)
    deny(world, PROPOSE, capability=tool(), user_id=world.bob.user_id)
    Capability.objects.filter(pk=tool().pk).update(ai_access="blocked")
    Quota.objects.create(capability=tool(), measure="calls", hard=3)
    FlowRule.objects.create(capability=tool(), mode="refuse", group=world.group)

    uninstalled(world)

    entries = {way: AuditEntry.objects.filter(action=f"rule.{way}") for way in ("keep", "return")}
    kept, returned = (sorted(rows.values_list("target", flat=True)) for rows in entries.values())
    assert len(kept) == 5
    assert returned == kept
    told = {str(row.details) for row in entries["keep"]}
    assert {str(row.details) for row in entries["return"]} == told
    assert {row.actor_kind for row in entries["return"]} == {"system"}


def test_waiting_quota_is_shown_and_lifted(world: World) -> None:
    Quota.objects.create(capability=tool(), measure="calls", hard=3)
    uninstall(by=world.alice, integration=world.notes)
    browser = Client()
    browser.force_login(world.alice, "acl.people.sign_in_attempts.PasswordBackend")

    page = browser.get("/access/").content.decode()
    [item] = browser.get("/api/v1/access/kept-rules").json()["items"]
    lift(by=world.alice, limit=KeptLimit.objects.get())
    install_again(world)

    assert "notes__read_note" in page
    assert (item["kind"], item["effect"], item["terms"]["hard"]) == ("quotas", None, 3)
    assert not Quota.objects.exists()


def test_every_table_that_limits_a_tool_is_kept() -> None:
    limiting = {label for label, hanging in CARRIED.items() if hanging.limits is not None}

    assert limiting == {"catalog.rule", *KEPT_TABLES.values()} - {"discovery.calllimit"}


@pytest.mark.parametrize("come_back", WAYS[:2])
def test_limits_of_an_integration_come_back_with_it(
    world: World, come_back: Callable[[World], None]
) -> None:
    deny(world, integration=world.notes)
    deny(world, PROPOSE, integration=world.notes, user_id=world.bob.user_id)
    deny(world, ALLOW, integration=world.notes)
    Integration.objects.filter(slug="notes").update(restricted=True)
    set_call_limit(by=world.alice, integration=world.notes, a_minute=7)
    Capability.objects.filter(action="write_note").update(ai_access="blocked")

    come_back(world)

    there = Integration.objects.get(slug="notes")
    assert sorted(Rule.objects.values_list("effect", flat=True)) == [DENY, PROPOSE]
    assert there.restricted
    assert call_limits() == {there.pk: 7}
    assert Capability.objects.get(action="write_note").ai_access == "blocked"
    assert world.usable == []


@pytest.mark.parametrize("come_back", WAYS[:2])
def test_limit_of_calls_comes_back_and_restricts_nothing(
    world: World, come_back: Callable[[World], None]
) -> None:
    set_call_limit(by=world.alice, integration=world.notes, a_minute=7)

    come_back(world)

    there = Integration.objects.get(slug="notes")
    assert (there.restricted, call_limits()) == (False, {there.pk: 7})
    assert not KeptLimit.objects.exists()


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
    browser.force_login(world.alice, "acl.people.sign_in_attempts.PasswordBackend")

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
