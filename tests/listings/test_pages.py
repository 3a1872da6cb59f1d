"""The marketplace pages: content by viewer, and what their forms start."""

import json
from dataclasses import asdict

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from acl.models import Space
from acl.people.spaces import create_space
from acl.platform.redis_circuit import attempt
from catalog.models import Integration, Secret
from catalog.servers.cell.report import KEY as KEY_OF_CELLS
from catalog.servers.cell.report import CellReport, report_for
from catalog.servers.client.launch_rules import command_digest
from marketplace.installs.state import transition
from marketplace.listings.search import describe_listings
from marketplace.models import Installation, Listing
from tests.factories import ListingFactory, SourceFactory, UserFactory

pytestmark = pytest.mark.django_db
State = Installation.State
COMMAND = ["uvx", "mcp-server-time==2026.10.19"]
KEY = "8b9f2c9e-6f3c-4d0e-9d2e-0c4b8c2c9a11"


@pytest.fixture
def time() -> Listing:
    listing = ListingFactory.create(
        slug="time",
        title="Time",
        description="What time it is.",
        transport="stdio",
        command=COMMAND,
        required_secrets=["TOKEN"],
        needs={"variables": [{"name": "TOKEN", "description": "Its key.", "required": True}]},
        homepage="javascript:alert(1)",
        repository="https://example.com/time",
        readme="# Time\n\n<script>alert(1)</script> [safe](https://example.com/a)",
        source=SourceFactory.create(slug="starter", kind="starter", location=""),
    )
    describe_listings([listing])
    return listing


FOUND = {
    "version": "1.0", "tested_on": "2026-11-26", "state": "ready", "bounds": ["mcp<2"],
    "called": "get_time", "hosts": ["pypi.org"], "packages": 31, "megabytes": 40.2, "seconds": 9.5,
}  # fmt: skip


def sent(**more: object) -> dict[str, object]:
    """Submit the form as an admin."""
    return {
        "key": KEY,
        "confirmed": command_digest(COMMAND, ["TOKEN"]),
        "variable-TOKEN": "canary",
        **more,
    }


def begun(client: Client, listing: Listing) -> Installation:
    client.post(f"/marketplace/listings/{listing.slug}/install/", sent())
    return Installation.objects.get()


def words(client: Client, path: str, status: int = 200) -> str:
    response = client.get(path)
    assert response.status_code == status
    return " ".join(response.content.decode().split())


def test_everyone_may_look_and_only_admins_see_how_it_is_installed(
    as_alice: Client, time: Listing
) -> None:
    listed, detail = (
        words(as_alice, "/marketplace/?q=time"),
        words(as_alice, "/marketplace/listings/time/"),
    )

    assert "What time it is." in listed
    assert "Ask an admin to install it" in detail
    assert "uvx" not in detail
    assert 'href="https://example.com/time"' in detail
    assert 'href="https://example.com/a"' in detail
    assert "javascript:" not in detail
    assert "<script>alert" not in detail
    words(as_alice, "/marketplace/listings/time/install/", 404)
    words(as_alice, "/marketplace/receivers/", 404)
    assert as_alice.post("/marketplace/listings/time/install/", sent()).status_code == 404
    assert not Installation.objects.exists()


def test_listing_that_is_a_description_says_so_on_its_card_its_page_and_in_the_api(
    as_alice: Client, time: Listing
) -> None:
    for kind in ("extension", "skill"):
        ListingFactory.create(slug=kind, title=kind, kind=kind, transport="", source=time.source)

    page = words(as_alice, "/marketplace/")
    cards = {
        slug: page.split(f"/marketplace/listings/{slug}/")[1] for slug in ("extension", "time")
    }
    answers = as_alice.get("/api/v1/listings").json()["items"]

    assert [
        "carried out by your application" in card.split("</li>")[0] for card in cards.values()
    ] == [True, False]
    assert page.count("carried out by your application") == 1
    assert {one["slug"]: one["described_only"] for one in answers} == {
        "extension": True,
        "skill": False,
        "time": False,
    }
    told = "Your application carries out their calls."
    assert told in words(as_alice, "/marketplace/listings/extension/")
    assert told not in words(as_alice, "/marketplace/listings/time/")


def test_form_begins_one_installation_however_often_it_is_sent(
    as_admin: Client, admin: User, support: Group, time: Listing
) -> None:
    root = Space.objects.get(group=support, parent=None)
    space = create_space(by=None, group=support, parent=root, name="Lisbon")
    shown = words(as_admin, "/marketplace/listings/time/install/")
    form = sent(groups=[support.pk], spaces=[space.pk])

    answers = [as_admin.post("/marketplace/listings/time/install/", form) for _ in range(2)]

    one = Installation.objects.get()
    progress = words(as_admin, f"/marketplace/installations/{one.public_id}/")
    assert "uvx mcp-server-time==2026.10.19" in shown
    assert [answer.status_code for answer in answers] == [302, 302]
    assert {answer["Location"] for answer in answers} == {
        f"/marketplace/installations/{one.public_id}/"
    }
    assert (list(one.groups.all()), list(one.spaces.all())) == ([support], [space])
    assert Secret.objects.get().name == "TOKEN"
    assert "canary" not in progress
    assert "Wait for a worker" in progress
    assert words(as_admin, "/marketplace/listings/time/").count("View progress") == 1


def test_listing_that_requires_a_refused_variable_says_so_before_it_asks_for_a_secret(
    as_admin: Client, time: Listing
) -> None:
    variables = [{"name": name, "required": True} for name in ("TOKEN", "LD_PRELOAD")]
    time.required_secrets, time.needs = ["TOKEN", "LD_PRELOAD"], {"variables": variables}
    time.save()

    page, form = (words(as_admin, f"/marketplace/listings/time/{end}") for end in ("", "install/"))
    refused = as_admin.post("/marketplace/listings/time/install/", sent())

    for shown in (page, form):
        assert "Pegboard does not set" in shown
        assert "decides which code the system&#x27;s loader" in shown
    assert 'name="variable-TOKEN"' not in form
    assert refused.status_code == 422
    assert not Integration.objects.exists()


def test_optional_variable_that_is_refused_is_told_and_not_asked_for(
    as_admin: Client, time: Listing
) -> None:
    proxy = {"name": "HTTPS_PROXY", "required": False}
    time.needs = {"variables": [*time.needs["variables"], proxy]}
    time.save()

    form = words(as_admin, "/marketplace/listings/time/install/")
    begun(as_admin, time)

    assert 'name="variable-TOKEN"' in form
    assert "variable-HTTPS_PROXY" not in form
    assert "decides where network traffic goes" in form
    assert Installation.objects.count() == 1


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"confirmed": ""}, "Confirm the command."),
        ({"confirmed": "0" * 64}, "The command has changed."),
        ({"groups": ["999999"]}, "is not one of the available choices"),
        ({"key": ""}, "required"),
    ],
)
def test_what_is_not_confirmed_or_not_there_begins_nothing(
    as_admin: Client, time: Listing, more: dict[str, object], told: str
) -> None:
    answer = as_admin.post("/marketplace/listings/time/install/", sent(**more))

    assert answer.status_code == 422
    assert told in answer.content.decode()
    assert "canary" not in answer.content.decode()
    assert not Integration.objects.exists()


def test_admin_without_the_permission_sees_why_not(client: Client, time: Listing) -> None:
    staff = UserFactory.create(is_staff=True)
    client.force_login(staff)

    before = words(client, "/marketplace/listings/time/install/")
    refused = client.post("/marketplace/listings/time/install/", sent())
    staff.user_permissions.add(Permission.objects.get(codename="install_stdio"))
    after = words(client, "/marketplace/listings/time/install/")

    assert "You are not allowed to install servers that run programs on this machine." in before
    assert "Can install servers that run programs on this machine" in before
    assert refused.status_code == 422
    assert not Installation.objects.exists()
    assert 'name="confirmed"' in after


def test_groups_are_found_by_their_names_and_those_of_their_spaces(
    as_admin: Client, support: Group, time: Listing
) -> None:
    root = Space.objects.get(group=support, parent=None)
    space = create_space(by=None, group=support, parent=root, name="Lisbon")

    found = words(as_admin, "/marketplace/receivers/?group_q=lisb")
    kept = words(as_admin, f"/marketplace/receivers/?group_q=zzz&spaces={space.pk}&groups=x")
    none = words(as_admin, "/marketplace/receivers/?group_q=zzz")

    assert "Lisbon" in found
    assert "checked" in kept
    assert "No group or space has this name." in none


def test_steps_say_how_far_it_is_and_what_failed(
    as_admin: Client, admin: User, time: Listing
) -> None:
    one = begun(as_admin, time)
    path = f"/marketplace/installations/{one.public_id}/"
    transition(one, State.FETCHING, message="Fetches it.")
    transition(one, State.CONNECTING, message="Starts it.")
    under_way = as_admin.get(path)
    seen = under_way.context["progress"].version
    again = as_admin.get(path, {"seen": seen}, headers={"HX-Request": "true"})
    transition(one, State.FAILED, reason="crashed", message="It crashed: another version may work.")
    failed = as_admin.get(path, {"seen": seen}, headers={"HX-Request": "true"})
    Installation.objects.update(reason="sign_in_needed")
    signed_out = as_admin.get(path).content.decode()

    states = {step.label: step.state for step in failed.context["progress"].steps}
    assert again.status_code == 204
    assert 'hx-trigger="every 1s"' in under_way.content.decode()
    assert "hx-trigger" not in failed.content.decode()
    assert "It crashed: another version may work." in failed.content.decode()
    assert "Connect account" not in failed.content.decode()
    assert f'href="/integrations/{one.integration.slug}/#secrets"' in signed_out
    assert (states["Fetch"], states["Connect"], states["Store"]) == ("done", "failed", "ahead")


def test_failed_one_is_tried_again_and_one_under_way_cancelled(
    as_admin: Client, admin: User, time: Listing
) -> None:
    one = begun(as_admin, time)
    path = f"/marketplace/installations/{one.public_id}/"
    asked = words(as_admin, path + "cancel/")
    untouched = Installation.objects.get().state

    as_admin.post(path + "cancel/")
    cancelled = words(as_admin, path)
    as_admin.post(path + "retry/")

    assert "Cancel installation" in asked
    assert untouched == State.QUEUED
    assert "was not installed" in cancelled
    assert Installation.objects.get().state == State.QUEUED
    assert "Earlier attempts" in words(as_admin, path)
    assert as_admin.get(path + "retry/").status_code == 405


def test_offered_bounds_are_tried_and_a_version_that_was_found_is_confirmed(
    as_admin: Client, time: Listing
) -> None:
    one = begun(as_admin, time)
    path = f"/marketplace/installations/{one.public_id}/"
    transition(one, State.FAILED, reason="crashed", message="It crashed.")
    Installation.objects.update(offered=["mcp<2"])
    offered = words(as_admin, path)
    as_admin.post(path + "retry/", {"offered": "1"})
    retried = Installation.objects.get()
    Installation.objects.update(state=State.CONFIGURE)
    waits = words(as_admin, path)
    as_admin.post(path + "confirm/", {"confirmed": "0" * 64})
    refused = Installation.objects.get().state
    as_admin.post(path + "confirm/", {"confirmed": retried.command_digest})

    assert "Try again with" in offered
    assert retried.constraints == ["mcp<2"]
    assert retried.command_digest in waits
    assert (refused, Installation.objects.get().state) == (State.CONFIGURE, State.QUEUED)


@pytest.mark.parametrize("mode", ["", "required", "preferred", "off"])
@pytest.mark.parametrize("problem", ["", "No cell."])
@pytest.mark.parametrize("command", [[], ["uvx", "a==1"], ["docker", "run", "a"], ["/x/podman"]])
def test_a_program_runs_in_exactly_one_way(mode: str, problem: str, command: list[str]) -> None:
    report = CellReport(mode, problem)
    attempt(lambda redis: redis.set(KEY_OF_CELLS, json.dumps(asdict(report)), ex=60), default=None)

    told = report_for(command)

    is_bare = bool(told.mode) and not (told.works or told.fails or told.container)
    is_unknown = not (told.mode or told.container)
    assert [told.works, told.fails, told.container, is_bare, is_unknown].count(True) == 1
    assert told.container is (bool(command) and command[0] != "uvx")


@pytest.mark.parametrize(
    ("report", "runs", "reaches"),
    [
        (
            CellReport(mode="required"),
            "It runs in a sandbox",
            "only the hosts that an admin allows",
        ),
        (
            CellReport(mode="off"),
            "It runs without a sandbox",
            "reach whatever the worker can reach",
        ),
        (CellReport(), "it is unknown whether it will run in a sandbox", ""),
        (CellReport("required", "No cell."), "Pegboard cannot start programs at the moment", ""),
    ],
)
def test_every_page_says_alike_what_a_program_could_reach(
    as_admin: Client,
    alice: User,
    time: Listing,
    report: CellReport,
    runs: str,
    reaches: str,
) -> None:
    attempt(lambda redis: redis.set(KEY_OF_CELLS, json.dumps(asdict(report)), ex=60), default=None)
    at, as_alice = "/marketplace/listings/time/", Client()
    as_alice.force_login(alice)
    pages = [words(as_admin, at), words(as_admin, at + "install/")]
    one = begun(as_admin, time)
    Installation.objects.update(state=State.CONFIGURE)
    pages.append(words(as_admin, f"/marketplace/installations/{one.public_id}/"))
    undeclared = words(as_admin, at), words(as_alice, at)
    declaring = ListingFactory.create(
        slug="clock", transport="stdio", command=COMMAND, needs={"hosts": ["time.example.com"]}
    )
    describe_listings([declaring])
    declared = [words(one, "/marketplace/listings/clock/") for one in (as_admin, as_alice)]

    assert all(runs in page for page in pages)
    assert all("Not declared." in page and reaches in page for page in undeclared)
    assert "time.example.com" in declared[0]
    assert "Hosts that the listing names to admins." in declared[1]
    assert reaches in declared[1]
    assert bool(reaches) is ("can reach" in undeclared[0])
    assert not any("Not declared." in page for page in declared)


def test_command_with_a_gap_or_without_a_version_is_completed_first(
    as_admin: Client, time: Listing
) -> None:
    path = "/marketplace/listings/time/install/"
    Listing.objects.update(command=[*COMMAND, "{folder}"])
    asked, filled = words(as_admin, path), words(as_admin, path + "?fill=/srv/%E2%80%AEdata")
    Listing.objects.update(command=["uvx", "mcp-server-time"])
    newest = words(as_admin, path)
    begun = as_admin.post(path, sent(confirmed=""))

    assert "Complete the command" in asked
    assert "/srv/\\u{202e}data" in filled
    assert "The command names no exact version." in newest
    assert begun.status_code == 302
    assert Installation.objects.get().state == State.CONFIGURE


def test_everyone_sees_that_a_version_is_known_to_work(as_alice: Client, time: Listing) -> None:
    details = {"type": "starter", "tested": FOUND}
    Listing.objects.filter(pk=time.pk).update(version="1.0", details=details)

    card = words(as_alice, "/marketplace/?show=known")
    page = words(as_alice, "/marketplace/listings/time/")

    assert "known to work" in card
    assert "Version 1.0 was tested on" in card
    assert "Known to work: version <bdi>1.0</bdi> was installed and started" in page
    assert "get_time" in page
    assert "40 MB in 31 packages" in page
    assert "pypi.org" not in page  # a part of how it is run


def test_tested_version_is_installed_with_the_bounds_that_it_needs(
    as_admin: Client, time: Listing
) -> None:
    details = {"type": "starter", "hosts": ["API.example.com", "*.example.com"], "tested": FOUND}
    Listing.objects.filter(pk=time.pk).update(version="1.0", details=details)
    path = "/marketplace/listings/time/"

    page, form = words(as_admin, path), words(as_admin, f"{path}install/")
    bounded = sent(confirmed=command_digest(COMMAND, ["TOKEN"], ["mcp<2"]))
    refused = as_admin.post(f"{path}install/", sent())
    as_admin.post(f"{path}install/", bounded)

    assert "pypi.org" in page
    assert ("mcp&lt;2" in form, str(bounded["confirmed"]) in form) == (True, True)
    assert ">api.example.com</textarea>" in form
    assert refused.status_code == 422
    assert Installation.objects.get().constraints == ["mcp<2"]


def test_another_version_than_the_tested_one_is_said_to_be_untested(
    as_admin: Client, time: Listing
) -> None:
    details = {"type": "starter", "tested": FOUND}
    Listing.objects.filter(pk=time.pk).update(version="1.1", details=details)
    path = "/marketplace/listings/time/"

    page, form = words(as_admin, path), words(as_admin, f"{path}install/")
    as_admin.post(f"{path}install/", sent())

    for shown in (page, form):
        assert "Known to work: version <bdi>1.0</bdi>" in shown
        assert "Version <bdi>1.1</bdi> has not been tested." in shown
    assert "mcp&lt;2" not in form
    assert Installation.objects.get().constraints == []
