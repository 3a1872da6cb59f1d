"""Tools that only the application could carry out: set aside until an admin claims them."""

import random

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from acl.models import AuditEntry, GroupPolicy
from acl.rights.caller_lookup import Caller
from catalog.access.flow_exposure import find_exposures
from catalog.access.grants import set_application_executes
from catalog.access.my_tools import MyTools, ToolFilters, list_my_tools
from catalog.models import Capability, Integration
from catalog.readiness.obstacles import BUILT_IN_TOOLS, OWN_INTEGRATIONS
from catalog.registration.register import register
from marketplace.offers.kinds.starter import starter_collection
from tests.examples import EXAMPLES
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, give

JSON = "application/json"


@pytest.fixture
def fresh(db: None, alice: User) -> Caller:
    """Alice in a fresh installation: an open group, and the starter collection."""
    everyone = GroupFactory.create(name="everyone")
    alice.groups.set([everyone])
    GroupPolicy.objects.update_or_create(group=everyone, defaults={"open_default": True})
    register(starter_collection(), by=None, source="starter", group=everyone, send=False)
    return Caller(alice.pk, everyone.pk)


def all_tools(caller: Caller) -> MyTools:
    return list_my_tools(caller=caller, filters=ToolFilters())


def names_of(caller: Caller) -> set[str]:
    first = all_tools(caller)
    pages = [
        list_my_tools(caller=caller, filters=ToolFilters(page=number + 1))
        for number in range(first.pages)
    ]
    return {mine.capability.full_name for page in pages for mine in page.tools}


def runs_here(tool: Capability) -> bool:
    """Say it in plain words, without the product's SQL."""
    return (
        tool.full_name in BUILT_IN_TOOLS
        or tool.kind == "skill"
        or tool.integration.slug in OWN_INTEGRATIONS
    )


def test_fresh_installation_counts_what_runs_and_alarms_nobody(fresh: Caller) -> None:
    tools = list(Capability.objects.select_related("integration"))
    running = {tool.full_name for tool in tools if runs_here(tool)}

    mine = all_tools(fresh)

    assert names_of(fresh) == running
    assert {tool.full_name for tool in mine.aside} == {t.full_name for t in tools} - running
    assert (mine.everywhere, len(mine.aside)) == (len(running), len(tools) - len(running))
    assert find_exposures().exposures == ()


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_whatever_an_admin_claims_counts_like_all_others(fresh: Caller, seed: int) -> None:
    luck = random.Random(seed)
    described = [t.integration for t in all_tools(fresh).aside]
    chosen = luck.sample(sorted(described, key=lambda row: row.slug), luck.randint(1, 5))
    before = names_of(fresh)

    for integration in chosen:
        set_application_executes(by=None, integration=integration, executes=True)

    claimed = set(
        Capability.objects.filter(integration__in=chosen).values_list("full_name", flat=True)
    )
    assert names_of(fresh) == before | claimed
    assert not claimed & {tool.full_name for tool in all_tools(fresh).aside}


def test_what_somebody_described_by_hand_is_theirs_to_carry_out(fresh: Caller) -> None:
    own = IntegrationFactory.create(slug="letters", kind="manifest", transport="")
    give(own, Group.objects.get(name="everyone"))
    letter = CapabilityFactory.create(integration=own)

    assert letter.full_name in names_of(fresh)


@pytest.fixture
def window(alice: User) -> Client:
    """Alice's own browser, beside the admin's."""
    window = Client()
    window.force_login(alice)
    return window


def test_pages_say_it_ask_for_no_secret_and_name_the_way_on(
    fresh: Caller, window: Client, as_admin: Client
) -> None:
    mine = window.get("/tools/").content.decode()
    tool = window.get("/tools/gmail__send_email/").content.decode()
    page = as_admin.get("/integrations/gmail/").content.decode()
    running = as_admin.get("/integrations/calculator/").content.decode()

    assert "Carried out by your application" in mine
    assert "/marketplace/?q=Gmail" in mine
    assert "/integrations/gmail/" not in mine
    assert "GOOGLE_OAUTH_TOKEN" not in tool + page
    assert "Our application carries these out" in page
    assert "Our application carries these out" not in running


def test_admin_claims_by_page_and_api_with_an_audit_entry(
    fresh: Caller, window: Client, as_admin: Client
) -> None:
    page = "/integrations/gmail/application-executes/"
    address = "/api/v1/integrations/gmail/application-executes"
    on, off = '{"application_executes": true}', '{"application_executes": false}'

    as_admin.post(page, {"application_executes": "on"})
    by_page = as_admin.get(address).json()
    answers = [as_admin.put(address, off, JSON).json() for _ in range(2)]
    refused = [window.post(page, {"application_executes": "on"}), window.put(address, on, JSON)]

    entries = AuditEntry.objects.filter(target="gmail", action__startswith="integration.")
    assert by_page == {"application_executes": True}
    assert answers == [{"application_executes": False}] * 2
    assert [response.status_code for response in refused] == [404, 403]
    assert [entry.action for entry in entries.order_by("pk")] == [
        "integration.application_executes",
        "integration.described",
    ]
    assert not Integration.objects.get(slug="gmail").application_executes
