"""Installation, by pages and API: from a confirmation to usable tools, or to a helpful error."""

import json
import sys
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from acl.keys.lifecycle import create_key
from acl.models import AuditEntry, Space
from acl.people.spaces import create_space
from acl.platform.jobs import claim_overdue
from acl.rights.caller_lookup import Caller
from catalog.embedding.jobs import embed_pending
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.models import Capability, Integration, IntegrationGroupPermission, Secret
from catalog.models.integration import ReviewState
from catalog.servers.client.launch_rules import CommandNotAllowedError, command_digest
from catalog.servers.net.address_check import EndpointNotAllowedError
from marketplace.installs.integration_management import NotReadyError, set_enabled, uninstall
from marketplace.installs.requests import (
    AlreadyInstalledError,
    NotPermittedError,
    approve_install,
    cancel_install,
    retry_install,
    start_install,
)
from marketplace.installs.state import transition
from marketplace.installs.worker import MOST_ATTEMPTS, install, overdue_installations
from marketplace.models import Installation, Listing
from tests.connections.commands import HOSTILE
from tests.connections.evil_server import EVIL, QUICK
from tests.factories import CapabilityFactory, GroupFactory, ListingFactory, UserFactory, give
from tests.installs.installs import begin, evil, worked
from tests.sessions import session_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("embedder", "quick_connections")]

State = Installation.State


@pytest.mark.parametrize(
    "features",
    [(), ("resources",), ("prompts", "completions"), ("resources", "prompts", "logging")],
)
def test_what_a_server_announces_is_stored_before_it_is_ready(
    alice: User, features: tuple[str, ...]
) -> None:
    installation = begin(alice, evil("-".join(["announces", *features])))

    worked(installation)

    assert installation.state == State.READY
    assert set(Integration.objects.get(slug="evil").announces) == set(features)


def test_installed_server_is_there_for_its_groups_when_it_is_ready(alice: User) -> None:
    group = GroupFactory.create()
    bob = UserFactory.create(username="bob", groups=[group])
    usable = Capability.objects.usable_by(Caller(bob.pk, group.pk)).values_list(
        "full_name", flat=True
    )
    other = GroupFactory.create()
    project = create_space(
        by=None, group=other, parent=Space.objects.get(group=other), name="Project"
    )
    dave = UserFactory.create(username="dave", groups=[other])
    open_group = GroupFactory.create(open=True)
    erin = UserFactory.create(username="erin", groups=[open_group])
    installation = begin(
        alice,
        evil(required_secrets=("TOKEN",)),
        groups=[group],
        spaces=[project],
        secrets={"TOKEN": "x"},
    )

    waits = install(installation.pk)
    before = (list(usable.all()), Integration.objects.get(slug="evil").enabled)
    embed_pending()
    install(installation.pk)
    installation.refresh_from_db()

    assert waits
    assert before == ([], False)
    assert list(usable.all()) == ["evil__echo"]
    assert not Capability.objects.usable_by(Caller(dave.pk, other.pk)).exists()
    assert Capability.objects.usable_by(Caller(dave.pk, other.pk, project.pk)).exists()
    assert not Capability.objects.usable_by(Caller(erin.pk, open_group.pk)).exists()
    assert installation.state == State.READY
    assert [event.state for event in installation.events.all()] == [
        "fetching", "checking", "connecting", "listing", "storing", "embedding", "ready",
    ]  # fmt: skip
    assert AuditEntry.objects.filter(action="install.start", by=alice).count() == 1


@pytest.mark.parametrize("chosen", ["group", "space", "none"])
def test_open_groups_get_it_only_if_nobody_was_chosen(alice: User, chosen: str) -> None:
    open_group, group = GroupFactory.create(open=True), GroupFactory.create()
    erin = UserFactory.create(groups=[open_group])
    places: dict[str, dict[str, list[Any]]] = {
        "group": {"groups": [group]},
        "space": {"spaces": [Space.objects.get(group=group)]},
        "none": {},
    }
    installation = begin(alice, evil(), **places[chosen])
    install(installation.pk)
    embed_pending()
    if chosen == "group":
        group.delete()  # while it is being installed

    install(installation.pk)

    usable = Capability.objects.usable_by(Caller(erin.pk, open_group.pk))
    assert usable.exists() is (chosen == "none")
    restrictions = AuditEntry.objects.filter(action="integration.restricted", by=alice)
    assert restrictions.count() == (chosen != "none")


def test_failed_installation_says_why_and_can_be_tried_again(
    alice: User, settings: Settings
) -> None:
    installation = begin(alice, evil())
    settings.PEGBOARD_LAUNCHERS = ()
    install(installation.pk)
    installation.refresh_from_db()
    failed = (installation.state, installation.reason, Capability.objects.count())
    settings.PEGBOARD_LAUNCHERS = (sys.executable,)

    retried = retry_install(by=alice, installation=installation)
    install(installation.pk)
    installation.refresh_from_db()

    assert failed == (State.FAILED, "command_not_allowed", 0)
    assert retried
    assert installation.state == State.EMBEDDING


def test_crash_is_told_with_the_last_words(alice: User) -> None:
    installation = begin(alice, evil("crash_at_start"))

    install(installation.pk)
    installation.refresh_from_db()

    assert (installation.state, installation.reason) == (State.FAILED, "crashed")
    assert "another version may work" in installation.message
    assert "ImportError" in installation.message
    assert "canary" not in installation.message


def test_other_command_than_the_confirmed_one_starts_nothing(alice: User) -> None:
    installation = begin(alice, evil())
    other = {**installation.descriptor, "command": [sys.executable, "-I", str(EVIL), "modern"]}
    Installation.objects.update(descriptor=other)

    install(installation.pk)
    installation.refresh_from_db()

    assert installation.reason == "command_not_allowed"
    assert "connecting" not in installation.events.values_list("state", flat=True)


def test_hidden_characters_wait_for_a_person(alice: User) -> None:
    installation = begin(alice, evil("hidden"))
    install(installation.pk)
    installation.refresh_from_db()
    waiting = installation.state

    approved = approve_install(by=alice, installation=installation)
    embed_pending()
    install(installation.pk)
    installation.refresh_from_db()

    assert (waiting, approved, installation.state) == (State.NEEDS_APPROVAL, True, State.READY)


def test_cancelled_installation_moves_no_further(alice: User) -> None:
    installation = begin(alice, evil())
    of_a_worker = Installation.objects.get(pk=installation.pk)

    cancelled = cancel_install(by=alice, installation=installation)

    assert cancelled
    assert not transition(of_a_worker, State.FETCHING)
    assert not install(installation.pk)
    assert not cancel_install(by=alice, installation=installation)
    assert list(installation.events.values_list("state", flat=True)) == ["cancelled"]


def test_programs_need_a_permission_and_the_whole_command_confirmed(
    alice: User, settings: Settings
) -> None:
    staff, root = UserFactory.create(is_staff=True), UserFactory.create(is_superuser=True)
    for by, confirmed in ((staff, None), (alice, "0" * 64), (alice, "")):
        digest = command_digest(evil().command, []) if confirmed is None else confirmed
        with pytest.raises(NotPermittedError):
            start_install(by=by, descriptor=evil(), confirmed=digest)
    settings.PEGBOARD_LAUNCHERS = ()
    with pytest.raises(CommandNotAllowedError):
        begin(root, evil())

    assert not Integration.objects.exists()


def test_hostile_command_leaves_no_row_whoever_asks(alice: User) -> None:
    """CMD-1: refused even for people who may install programs, as is anything without a version."""
    root = UserFactory.create(is_superuser=True)
    for command in HOSTILE:
        parts = tuple(command.split(" ")) if command else ()
        hostile = IntegrationDescriptor("x", "mcp", "X", transport="stdio", command=parts)
        for by in (alice, root):
            with pytest.raises((CommandNotAllowedError, NotPermittedError)):
                start_install(by=by, descriptor=hostile, confirmed=command_digest(parts, []))

    assert not Integration.objects.exists()


@pytest.mark.parametrize(
    ("mode", "state", "stored", "told"),
    [
        ("endless_list", State.EMBEDDING, QUICK.pages, "does not end"),
        ("long", State.FAILED, 0, "None of its tools can be used"),
    ],
)
def test_server_that_says_too_much_is_cut_or_refused(
    alice: User, mode: str, state: str, stored: int, told: str
) -> None:
    """DOS-1: only part of an oversized list is stored, and the row says so."""
    installation = begin(alice, evil(mode))

    install(installation.pk)
    installation.refresh_from_db()

    tools = Capability.objects.filter(integration__slug="evil")
    assert (installation.state, tools.count()) == (state, stored)
    assert told in " ".join(installation.events.values_list("message", flat=True))


def test_private_address_is_refused_before_a_row_exists(alice: User) -> None:
    inside = IntegrationDescriptor(
        "inside", "mcp", "Inside", transport="http", endpoint="https://10.0.0.1/mcp"
    )

    with pytest.raises(EndpointNotAllowedError):
        start_install(by=alice, descriptor=inside)

    assert not Integration.objects.exists()


def test_installing_twice_gives_one(alice: User) -> None:
    first = begin(alice, evil(), idempotency_key="k")
    again = begin(alice, evil(), idempotency_key="k")
    with pytest.raises(AlreadyInstalledError):
        begin(alice, evil())

    assert first == again
    assert Installation.objects.count() == Integration.objects.count() == 1


def test_lost_installation_is_found_and_not_for_ever(alice: User, settings: Settings) -> None:
    settings.PEGBOARD_SWEEP_AFTER_SECONDS = 0
    installation = begin(alice, evil())
    found = claim_overdue(overdue_installations())
    Installation.objects.update(state=State.CONNECTING)
    within_a_step = claim_overdue(overdue_installations())
    Installation.objects.update(attempts=MOST_ATTEMPTS)

    install(installation.pk)
    installation.refresh_from_db()

    assert (found, within_a_step) == ([installation.pk], [])
    assert (installation.state, installation.reason) == (State.FAILED, "gave_up")


def test_other_tools_than_those_seen_are_not_approved(alice: User, client: Client) -> None:
    installation = begin(alice, evil("hidden"))
    install(installation.pk)
    client.force_login(alice)
    path = f"/api/v1/installations/{installation.public_id}"
    page = f"/marketplace/installations/{installation.public_id}/"
    seen = client.get(path).json()["tools_digest"]
    shown = f'name="seen" value="{seen}"' in client.get(page).content.decode()
    Installation.objects.update(tools=[{"name": "other", "description": "Something else."}])

    unsaid = client.post(f"{path}/approve", {}, "application/json")
    by_api = client.post(f"{path}/approve", {"seen": seen}, "application/json")
    by_page = client.post(f"{page}approve/", {"seen": seen}, follow=True)

    installation.refresh_from_db()
    assert shown
    assert (unsaid.status_code, by_api.status_code) == (400, 409)
    assert "The tools have changed since they were shown" in by_page.content.decode()
    assert installation.state == State.NEEDS_APPROVAL
    now = client.get(path).json()["tools_digest"]
    assert client.post(f"{path}/approve", {"seen": now}, "application/json").status_code == 202


PATH = "/api/v1/installations"


@pytest.fixture
def client(alice: User) -> Client:
    client = session_of(alice)
    ListingFactory.create(
        slug="evil", title="Evil", transport="stdio", version="1",
        command=[sys.executable, "-I", str(EVIL)],
    )  # fmt: skip
    return client


def post(client: Client, path: str, body: dict[str, Any], key: str = "") -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    return client.post(path, json.dumps(body), content_type="application/json", headers=headers)


def test_the_whole_way(client: Client) -> None:
    group = GroupFactory.create()
    preview = client.get(f"{PATH}/preview", {"listing": "evil"}).json()
    wanted = {"listing": "evil", "groups": [group.name], "confirmed": preview["digest"]}
    begun = post(client, PATH, wanted, key="k")
    again = post(client, PATH, wanted, key="k")
    other = post(client, PATH, {**wanted, "groups": []}, key="k")
    twice = post(client, PATH, wanted)
    one = f"{PATH}/{begun.json()['id']}"
    early = client.patch(one, {"enabled": False}, "application/json")
    install(Installation.objects.get().pk)
    first = client.get(f"{one}/events").json()
    embed_pending()
    install(Installation.objects.get().pk)
    last = first["events"][-1]["id"]
    rest = client.get(f"{one}/events", {"after": last}).json()
    off = client.patch(one, {"enabled": False}, "application/json")

    assert preview["command"] == [sys.executable, "-I", str(EVIL)]
    assert (begun.status_code, again.json()) == (202, begun.json())
    assert [each.status_code for each in (other, twice, early)] == [422, 409, 409]
    assert [event["state"] for event in first["events"]][-2:] == ["storing", "embedding"]
    assert (first["is_over"], rest["is_over"]) == (False, True)
    assert [event["state"] for event in rest["events"]] == ["ready"]
    assert off.json()["enabled"] is Integration.objects.get().enabled is False
    assert post(client, f"{one}/cancel", {}).status_code == 409
    assert client.get(f"{one}/update").status_code == 404
    assert client.delete(one).status_code == 204
    assert client.get(one).status_code == 404
    assert not Integration.objects.exists()


def test_who_may_and_what_is_told_otherwise(client: Client, alice: User) -> None:
    digest = client.get(f"{PATH}/preview", {"listing": "evil"}).json()["digest"]
    wanted = {"listing": "evil", "confirmed": digest}
    clerk = session_of(UserFactory.create(is_staff=True))
    group = GroupFactory.create()
    alice.groups.add(group)
    _, own = create_key(by=None, name="own", all_groups=True, scopes=["admin"], owner=alice)
    _, of_hers = create_key(by=None, name="one", group=group, scopes=["admin"], owner=alice)
    _, nobodys = create_key(by=None, name="bot", group=group, scopes=["admin"], acts_for_users=True)
    of_nobody, of_one_group, of_alice = (
        Client(headers={"Authorization": f"Bearer {key}"}) for key in (nobodys, of_hers, own)
    )

    refused = [post(each, PATH, wanted).status_code for each in (clerk, of_nobody, of_one_group)]
    wrong = [
        post(client, PATH, {**wanted, **change}).json()
        for change in (
            {"listing": "nowhere"}, {"version": "9"}, {"groups": ["nowhere"]},
            {"spaces": [{"group": "a", "space": "b"}]}, {"secrets": {"A": "\x01"}}, {"whom": 1},
        )
    ]  # fmt: skip
    unseen = post(client, PATH, {"listing": "evil"}).status_code

    assert (refused, unseen) == ([403, 403, 403], 403)
    assert [problem.get("field", problem) for problem in wrong] == [
        "listing", "version", "groups", "spaces", "secrets", "whom",
    ]  # fmt: skip
    assert not Integration.objects.exists()
    assert post(of_alice, PATH, wanted).status_code == 202


def test_update_is_previewed_with_all_that_is_confirmed(client: Client) -> None:
    preview = client.get(f"{PATH}/preview", {"listing": "evil"}).json()
    begun = post(client, PATH, {"listing": "evil", "confirmed": preview["digest"]}).json()
    for _ in range(2):
        install(Installation.objects.get().pk)
        embed_pending()
    Listing.objects.update(version="2")

    update = client.get(f"{PATH}/{begun['id']}/update").json()

    assert (update["version"], update["command"]) == ("2", preview["command"])
    assert (update["constraints"], update["proposed_hosts"]) == ([], [])
    assert update["digest"]


def test_disabled_serves_nobody_and_removed_leaves_nothing(alice: User) -> None:
    group = GroupFactory.create()
    bob = UserFactory.create(username="bob", groups=[group])
    mail = CapabilityFactory.create(vector=[1, 0, 0]).integration
    give(mail, group)
    Secret.objects.create(integration=mail, name="TOKEN", sealed=b"x")
    usable = Capability.objects.usable_by(Caller(bob.pk, group.pk))

    seen = [usable.count()]
    changed = [set_enabled(by=alice, integration=mail, enabled=on) for on in (False, False)]
    seen.append(usable.count())
    changed.append(set_enabled(by=alice, integration=mail, enabled=True))
    seen.append(usable.count())
    Integration.objects.filter(pk=mail.pk).update(state=ReviewState.PENDING, enabled=False)
    with pytest.raises(NotReadyError):
        set_enabled(by=alice, integration=mail, enabled=True)
    uninstall(by=alice, integration=mail)
    uninstall(by=alice, integration=mail)

    assert (seen, changed) == ([1, 0, 1], [True, False, True])
    for table in (Integration, Capability, IntegrationGroupPermission, Secret):
        assert not table.objects.exists()
    actions = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert actions == ["integration.disable", "integration.enable", "integration.uninstall"]
