"""All entry points, and what each reveals to whom. New entry points need a row in `WAYS`."""

from collections.abc import Callable
from copy import deepcopy
from itertools import count
from random import Random
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acl.models import Space
from catalog.capabilities.catalog_queries import list_names
from catalog.models import CatalogVersion, Integration, Rule
from tests.access.people import People, client_of
from tests.access.ways import WAYS, Way, change, end, hide_something, told
from tests.examples import EXAMPLES, some_of
from tests.factories import (
    lay_down,
    remember,
    take_away,
)
from tests.sessions import session_of

# Pages refer to static files, which were not collected.


# Entry points for admins only, which have tests of their own.
OTHERS = {
    "api-listing",  # tests/listings/test_api.py
    "api-listing-approve",  # tests/listings/test_held_listings.py
    "api-listing-hide",
    "api-turn",  # by the turn's id: tests/turns/test_api.py
    "api-turn-start",
    "api-turn-results",  # tests/flow_guard/test_calls.py
    "api-turn-outcome",
    "api-call-events",  # tests/calls/test_edges.py
    "api-call",  # by the call's id: tests/calls/test_api.py
    "api-call-cancel",
    "api-approvals",  # tests/calls/test_approvals.py
    "api-approval",
    "api-approve",
    "api-reject",
    "api-outcome-windows",
    "api-outcome-alerts",
    "api-figures",
    "api-figures-tools",  # tests/insights/test_pages.py
    "api-figures-use",  # tests/pages/test_use_pages.py
    "api-keys",
    "api-key",
    "api-key-rotate",
    "api-access-holders",
    "api-access-rules",
    "api-access-rule",
    "api-access-kept",
    "api-access-lift",
    "api-capability-state",  # tests/runtime
    "api-own-capabilities",
}
OTHERS |= {  # tests/people/test_groups_api.py
    "api-groups",
    "api-group",
    "api-group-deletion",
    "api-group-merge",
    "api-group-members",
    "api-group-member",
    "api-spaces",
    "api-spaces-of-group",
    "api-space",
    "api-grants",
    "api-access-grants",
    "api-people",
    "api-person",
    "api-invitations",
}
OTHERS |= {  # tests/installs/test_installing.py
    "api-integration-confirm",  # tests/rights/test_confirmation.py
    "api-integration-call-limit",  # tests/calls/test_quotas.py
    "api-integration-network",  # tests/integrations/test_settings.py
    "api-tool-settings",  # tests/integrations/test_settings.py
    "api-integration-application-executes",  # tests/integrations/test_settings.py
    "api-integration-requestable",  # tests/integrations/test_settings.py
    "registry-status",  # tests/sources/test_registry.py
    "api-review",  # tests/trust/test_reviewing.py
    "api-review-approve",
    "api-review-reject",
    "api-installations",
    "api-installation",
    "api-installation-preview",
    *(
        f"api-installation-{step}"
        for step in (
            "events",
            "cancel",
            "retry",
            "approve",
            "confirm",
            "update",
            "roll-back",
            "repair",
        )
    ),
}
OTHERS |= {
    "api-calls",  # one's own, and an admin key's groups': tests/pages/test_calls.py
    "api-call-policy",  # tests/calls/test_call_policy.py
    "api-quotas",  # tests/calls/test_quotas.py
    "api-quota",
    "api-prices",  # tests/insights/test_prices.py
    "api-price",
    "api-example-requests",  # for admins: tests/example_requests
    "api-advice",  # tests/advice/test_advice.py
    "api-chat-models",  # tests/chats/test_models.py
    "api-chat-model",
    "api-risks",  # for admins: tests/insights/test_risk.py
}
OTHERS |= {  # tests/applications/test_api.py
    "api-applications",
    "api-application",
    "api-application-keys",
    "api-application-key",
    "api-application-conversations",
}
OTHERS |= {"api-additions", "api-addition"}  # tests/openapi/test_adding.py
OTHERS |= {"api-allowed-hosts"}  # tests/net/test_guard.py
OTHERS |= {"api-own-servers"}  # tests/installs/test_own_servers.py
OTHERS |= {"api-sources", "api-source", "api-source-refresh"}  # tests/sources/test_api.py
OTHERS |= {"api-meta"}  # the same for everyone
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.path} {way.query or ''}")


@pytest.fixture
def people(invited: People, db: None) -> People:
    """The people, rolled back after each test: creating them takes longer than the requests."""
    return deepcopy(invited)


@pytest.fixture
def client(people: People) -> Client:
    remember(people.send, people.alice, people.support)
    return client_of(people.support)


@every_way
def test_alice_is_told_about_gmail_charlie_is_not_and_his_key_speaks_for_her_nowhere(
    client: Client, people: People, way: Way
) -> None:
    charlies = client_of(people.finance)
    if way.route.startswith("registry"):  # which has what is served only
        Integration.objects.filter(slug="gmail").update(transport="http")

    response = way.ask(client, "alice")

    assert response.status_code == 200
    if way.route not in {"api-stats"} and "query" not in way.query:
        assert "gmail" in response.content.decode()
    assert "gmail" not in told(way.ask(charlies, "charlie"), "gmail__send_email")[1]
    assert way.ask(charlies, "alice").status_code == 403


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_what_is_hidden_changes_no_answer(people: People, seed: int) -> None:
    random = Random(seed)
    with transaction.atomic():
        client = client_of(people.support)
        remember(people.send, people.alice, people.support)
        before = [told(way.ask(client, "alice")) for way in WAYS]

        for _ in range(random.randint(1, 4)):
            hide_something(people, random)

        after = [told(way.ask(client, "alice")) for way in WAYS]
        transaction.set_rollback(True)
    assert after == before


@pytest.mark.parametrize("way", [way for way in WAYS if way.names_one], ids=lambda way: way.path)
@pytest.mark.parametrize("name", ["payroll__pay", "wiki__delete_page"])
def test_foreign_and_unknown_names_are_answered_alike(client: Client, way: Way, name: str) -> None:
    way.ask(client, "alice")  # fills the caches

    foreign = asked(way, client, name)

    assert foreign == asked(way, client, "no_such__capability")
    assert "wiki" not in str(foreign)


def asked(way: Way, client: Client, name: str) -> tuple[Any, int]:
    with CaptureQueriesContext(connection) as statements:
        response = way.ask(client, "alice", name)
    return told(response, name), len(statements)


TURN = count(1)
LOSSES: dict[str, Callable[[People], object]] = {
    "the group's grant is revoked": lambda people: take_away(people.gmail, people.support),
    "a rule denies it": lambda people: lay_down(
        Rule.Effect.DENY, people.gmail, Space.objects.get(group=people.support)
    ),
    "the integration is disabled": lambda people: change(people.gmail, enabled=False),
    "the integration is quarantined": lambda people: change(people.gmail, state="quarantined"),
    "the integration is uninstalled": lambda people: people.gmail.delete(),
    "its time is over": lambda people: end(people.gmail, people.support),
    "alice leaves the group": lambda people: people.alice.groups.clear(),
    "alice is deactivated": lambda people: change(people.alice, is_active=False),
    "the group is removed": lambda people: people.support.delete(),
}


@every_way
def test_lost_right_is_gone_from_the_next_request(people: People, client: Client, way: Way) -> None:
    wrong = []
    # One statement decides all of them; what differs is what a way keeps.
    for name, lose in some_of(list(LOSSES.items()), f"{way.path} {way.query}", 3):
        losing = deepcopy(people)
        with transaction.atomic():
            # Rollbacks do not reach caches: no version of the catalogue may be used twice.
            CatalogVersion.objects.update(number=F("number") + 1000 * next(TURN))
            way.ask(client, "alice")
            list_names(caller=losing.caller)

            lose(losing)

            response = way.ask(client, "alice")
            if response.status_code not in {200, 401, 403, 404}:
                wrong.append(f"{name}: {response.status_code}")
            if "gmail" in told(response, "gmail__send_email")[1]:
                wrong.append(f"{name}: is told")
            transaction.set_rollback(True)
    assert wrong == []


@every_way
def test_number_of_statements_tells_nothing_about_what_is_hidden(
    people: People, client: Client, way: Way
) -> None:
    way.ask(client, "alice")
    before = asked(way, client, "gmail__send_email")[1]

    for number in range(4):
        hide_something(people, Random(number))
    way.ask(client, "alice")

    assert asked(way, client, "gmail__send_email")[1] == before


@pytest.mark.parametrize("words", ["mail", "pay", "e"])
def test_finding_from_everywhere_tells_of_what_is_usable_only(people: People, words: str) -> None:
    def found(user: Any) -> str:
        client = session_of(user)
        response = client.get("/find/", {"q": words}, headers={"HX-Request": "true"})
        return response.content.decode()

    before = found(people.alice)
    for number in range(4):
        hide_something(people, Random(number))
    after, charlies = found(people.alice), found(people.charlie)

    assert after == before
    assert ("gmail__send_email" in before) == (words != "pay")
    assert "payroll" not in before
    assert "gmail" not in charlies


def test_every_way_in_has_a_row() -> None:
    patterns = get_resolver().url_patterns
    routes = {*names_below("api/v1/", patterns), *names_below("v0.1/", patterns)}

    assert routes - OTHERS == {way.route for way in WAYS}


def names_below(place: str, patterns: list[Any], at: str = "") -> list[str]:
    found = []
    for pattern in patterns:
        here = at + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            found += names_below(place, pattern.url_patterns, here)
        elif isinstance(pattern, URLPattern) and here.startswith(place) and pattern.name:
            found.append(pattern.name)
    return found
