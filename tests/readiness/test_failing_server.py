"""Death and return of a real server: every surface follows within one probe."""

from contextlib import suppress

import pytest
from pytest_django.fixtures import Settings

from acl.rights.caller import Caller
from catalog.access.my_tools import find_my_tool
from catalog.access.usable_ids import usable_ids
from catalog.models import Integration
from catalog.readiness.readiness import Readiness
from catalog.servers.client.server_problems import ServerProblemError
from catalog.servers.connections.server_requests import check_server
from discovery.select.selection import Asked, Selected
from discovery.select.selector import select_capabilities
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, UserFactory, give
from tests.mcp_client.addresses import fine_server

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("connections")]


def _probe(integration: Integration) -> None:
    with suppress(ServerProblemError):
        check_server(integration)
    integration.refresh_from_db()


def _best(caller: Caller) -> Selected:
    return select_capabilities(Asked("call main__add, please: add two numbers", caller)).selected[0]


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
    with fine_server() as main_address:
        port = int(main_address.split(":")[2].split("/")[0])
        settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("127.0.0.1", port),)
        main, twin = (
            IntegrationFactory.create(slug=slug, transport="http", endpoint=main_address)
            for slug in ("main", "twin")
        )
        for integration in (main, twin):
            give(integration, group)
            CapabilityFactory.create(
                integration=integration,
                action="add",
                description="Add two numbers.",
                side_effect="read",
                fingerprint="add",
            )
        _probe(main)
        before = _best(caller), _states(caller, main)
    _probe(main)
    since = main.failing_since
    during = _best(caller), _states(caller, main)
    _probe(main)
    with fine_server(port=port):
        _probe(main)
        after = _best(caller), _states(caller, main)

    assert (before[0].full_name, before[1]) == ("main__add", {Readiness.READY})
    assert (during[0].full_name, during[1]) == ("twin__add", {Readiness.FAILING})
    assert during[0].alternatives == ("main__add",)
    assert since is not None
    assert (after[0].full_name, after[1]) == ("main__add", {Readiness.READY})
    assert (main.failing_since, main.problem) == (None, "")


def test_a_failing_tool_without_a_twin_comes_last_and_says_so(settings: Settings) -> None:
    group = GroupFactory.create()
    alice = UserFactory.create(groups=[group])
    failing = IntegrationFactory.create(slug="sums", transport="http", connection="failing")
    fine = IntegrationFactory.create(slug="other", transport="http")
    for integration, description in ((failing, "Add two numbers."), (fine, "Compare numbers.")):
        give(integration, group)
        CapabilityFactory.create(integration=integration, action="go", description=description)

    asked = Asked("add two numbers", Caller(alice.pk, group.pk))
    shown = {item.full_name: item for item in select_capabilities(asked).selected}

    assert list(shown)[-1] == "sums__go"
    assert shown["sums__go"].readiness.state is Readiness.FAILING
    assert "failing" in shown["sums__go"].readiness.sentence
