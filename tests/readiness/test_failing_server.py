"""Death and return of a real server: every surface follows within one probe."""

from contextlib import suppress
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from acl.rights.caller_lookup import Caller
from catalog.access.my_tools import find_my_tool
from catalog.access.usable_ids import usable_ids
from catalog.models import Integration
from catalog.readiness.readiness import Readiness
from catalog.servers.client.server_problems import ServerProblemError
from catalog.servers.connections.server_requests import check_server
from discovery.select.selection import Selected, SelectRequest
from discovery.select.selector import select_capabilities
from tests.connections.addresses import fine_server
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, UserFactory, give
from tests.readiness.surfaces import SURFACES, World, brief, open_world, without

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("connections")]


def _probe(*integrations: Integration) -> None:
    for integration in integrations:
        with suppress(ServerProblemError):
            check_server(integration)
        integration.refresh_from_db()


def _serve(settings: Settings, addresses: dict[str, str]) -> list[Integration]:
    """Create an integration for each real server, by its slug."""
    hosts = tuple(("127.0.0.1", _port(address)) for address in addresses.values())
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = hosts
    return [
        IntegrationFactory.create(slug=slug, transport="http", endpoint=address)
        for slug, address in addresses.items()
    ]


def _port(address: str) -> int:
    return int(address.split(":")[2].split("/")[0])


def _best(caller: Caller) -> Selected:
    return select_capabilities(
        SelectRequest("call main__add, please: add two numbers", caller)
    ).selected[0]


def _states(caller: Caller, integration: Integration) -> set[Readiness]:
    """Return what the page, the lists and the selection with every twin say of its tool."""
    tool = integration.capabilities.get()
    mine = find_my_tool(caller=caller, full_name=tool.full_name)
    assert mine is not None
    return {mine.readiness.state, usable_ids(caller).readiness_of(tool.pk, integration.slug).state}


def test_a_twin_takes_the_place_of_a_failing_server_until_it_is_back(settings: Settings) -> None:
    settings.PEGBOARD_APPROVE = "propose"
    group = GroupFactory.create()
    alice = UserFactory.create(groups=[group])
    caller = Caller(alice.pk, group.pk)
    with fine_server() as twin_address:
        with fine_server() as main_address:
            main, twin = _serve(settings, {"main": main_address, "twin": twin_address})
            for integration in (main, twin):
                give(integration, group)
                CapabilityFactory.create(
                    integration=integration,
                    action="add",
                    description="Add two numbers.",
                    side_effect="read",
                    fingerprint="add",
                )
            _probe(main, twin)
            before = _best(caller), _states(caller, main)
        _probe(main, twin)
        since, failures = main.failing_since, main.failures
        during = _best(caller), _states(caller, main)
        _probe(main, twin)
        with fine_server(port=_port(main_address)):
            _probe(main, twin)
            after = _best(caller), _states(caller, main)

    assert (before[0].full_name, before[1]) == ("main__add", {Readiness.READY})
    assert (during[0].full_name, during[1]) == ("twin__add", {Readiness.FAILING})
    assert during[0].alternatives == ("main__add",)
    assert since is not None
    assert (after[0].full_name, after[1]) == ("main__add", {Readiness.READY})
    assert (main.failing_since, main.failures, main.problem) == (None, 0, "")
    assert failures == 1


def test_sentence_says_since_when_and_how_often(settings: Settings) -> None:
    settings.PEGBOARD_APPROVE = "propose"
    group = GroupFactory.create()
    caller = Caller(UserFactory.create(groups=[group]).pk, group.pk)
    with fine_server() as address:
        [main] = _serve(settings, {"main": address})
    give(main, group)
    tool = CapabilityFactory.create(integration=main, action="add")
    for _ in range(3):
        _probe(main)
    Integration.objects.update(failing_since=timezone.now() - timedelta(minutes=4, seconds=9))

    mine = find_my_tool(caller=caller, full_name=tool.full_name)
    listed = usable_ids(caller).readiness_of(tool.pk, main.slug)
    [selected] = select_capabilities(SelectRequest("main__add", caller)).selected

    assert mine is not None
    assert {one.sentence for one in (mine.readiness, listed, selected.readiness)} == {
        "Its server has been failing for 4\xa0minutes, 3 times in a row."
    }
    assert selected.readiness.mark.endswith("failing for 4 minutes")


def test_a_failing_tool_without_a_twin_comes_last_and_says_so(settings: Settings) -> None:
    group = GroupFactory.create()
    alice = UserFactory.create(groups=[group])
    failing = IntegrationFactory.create(slug="sums", transport="http", connection="failing")
    fine = IntegrationFactory.create(slug="other", transport="http")
    for integration, description in ((failing, "Add two numbers."), (fine, "Compare numbers.")):
        give(integration, group)
        CapabilityFactory.create(integration=integration, action="go", description=description)

    asked = SelectRequest("add two numbers", Caller(alice.pk, group.pk))
    shown = {item.full_name: item for item in select_capabilities(asked).selected}

    assert list(shown)[-1] == "sums__go"
    assert shown["sums__go"].readiness.state is Readiness.FAILING
    assert "failing" in shown["sums__go"].readiness.sentence


def test_every_surface_follows_a_server_that_dies_and_returns(settings: Settings) -> None:
    settings.PEGBOARD_APPROVE = "propose"
    group = GroupFactory.create(name="Support")
    alice = UserFactory.create(username="alice", groups=[group])
    with fine_server() as fine:
        with fine_server() as dying:
            servers = _serve(settings, {"server-0": dying, "server-1": fine})
            rows = []
            for number, server in enumerate(servers):
                give(server, group)
                row = CapabilityFactory.create(integration=server, action=f"do_{number}")
                rows.append(row)
            world = open_world(group, alice, rows)
            _probe(*servers)
            _compare(world, {0: "ready", 1: "ready"})
        _probe(*servers)
        _compare(world, {0: "failing", 1: "ready"})
        with fine_server(port=_port(dying)):
            _probe(*servers)
            _compare(world, {0: "ready", 1: "ready"})


def _compare(world: World, states: dict[int, str]) -> None:
    """Compare each surface: a client's list leaves out what is failing, all others mark it."""
    expected = {
        "listed": without({"failing"}, states),
        "marks": {number: brief(one, "runs") for number, one in states.items()},
        "verdicts": {n: "stopped" if one == "failing" else one for n, one in states.items()},
    }
    for surface, tells in SURFACES.items():
        assert surface(world) == expected.get(tells, states), surface.__name__
    failing = "failing" in states.values()
    statuses = world.admin.get("/integrations/").text
    assert ("failing</span>" in statuses) == failing
