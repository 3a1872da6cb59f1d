"""All entry points, and what each reveals to whom. New entry points need a row in `WAYS`."""

import json
import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from django.conf import settings as configured
from django.db import connection, transaction
from django.http import HttpResponse
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acl.models import Space
from catalog.lookups.catalog_queries import list_names
from catalog.models import Capability, Rule
from tests.access.people import People, client_of
from tests.examples import EXAMPLES
from tests.factories import (
    CapabilityFactory,
    IntegrationFactory,
    give,
    lay_down,
    remember,
    take_away,
)

# Pages refer to static files, which were not collected.
WITHOUT_HASHES = {
    **configured.STORAGES,
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
MESSAGE = "send an email, search the pages, pay the salaries"
META_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("list_categories", {}),
    ("browse_category", {"category": "communication", "limit": 1}),
    ("search_tools", {"query": MESSAGE, "limit": 2}),
    ("get_tool", {"name": "NAME"}),
    ("execute_tool", {"name": "NAME"}),
    ("discover_capabilities", {"query": MESSAGE, "kind": "tool"}),
    ("tool_discovery__find", {"query": MESSAGE}),
    ("tool_discovery__list_all", {}),
    ("tool_discovery__describe", {"tool_name": "NAME"}),
    ("mcp__list_servers", {}),
]


@dataclass(frozen=True)
class Way:
    """A call on behalf of a user; `names_one` if it takes the name of a capability."""

    route: str
    path: str
    body: dict[str, Any] | None = None
    query: dict[str, Any] = field(default_factory=dict)
    names_one: bool = False

    def ask(self, client: Client, user: str, name: str = "gmail__send_email") -> Any:
        at = "" if self.path.startswith("/") else "/api/v1/"
        path = at + self.path.replace("NAME", name)
        if self.body is None:
            query = {key: name if value == "NAME" else value for key, value in self.query.items()}
            return client.get(path, {"user": user, **query})
        body = json.dumps({"user": user, **self.body}).replace("NAME", name)
        return client.post(path, body, content_type="application/json")


WAYS = [
    Way("api-capabilities", "capabilities"),
    Way("api-capabilities", "capabilities", query={"detail": "full_schema", "limit": 2}),
    Way("api-capabilities", "capabilities", query={"query": "page", "category": "other"}),
    Way("api-capability", "capabilities/NAME", names_one=True),
    Way("api-capabilities-batch", "capabilities/batch", {"names": ["NAME"]}, names_one=True),
    Way("api-categories", "categories"),
    Way("api-tree", "tree"),
    Way("api-names", "names"),
    Way("api-stats", "stats"),
    Way("api-listings", "listings", query={"query": "mail"}),
    Way("api-graph", "graph/NAME", names_one=True),
    Way("api-graph", "graph/NAME", query={"type": "TAGGED_WITH"}, names_one=True),
    Way("api-select", "select", {"message": MESSAGE}),
    Way("api-select", "select", {"message": MESSAGE, "mode": "compact_direct"}),
    Way("api-discover", "discover", {"message": MESSAGE, "relevance": 0, "format": "gemini"}),
    Way("api-learning", "learning"),
    Way("api-plan", "plan", {"message": MESSAGE}),
    Way("api-plan", "plan", {"message": MESSAGE, "selection_mode": "all"}),
    *(
        Way(
            "api-meta-tool",
            f"meta/{name}",
            {"arguments": arguments},
            names_one="NAME" in str(arguments),
        )
        for name, arguments in META_CALLS
    ),
    Way("api-execute", "execute", {"name": "NAME"}, names_one=True),
    Way("api-access-explain", "access/explain", query={"capability": "NAME"}, names_one=True),
    Way("api-access-reach", "access/reach"),
    Way("registry-servers", "/v0.1/servers"),
    Way("registry-servers", "/v0.1/servers", query={"limit": 1, "version": "latest"}),
    Way("registry-versions", "/v0.1/servers/pegboard%2Fgmail/versions"),
    Way("registry-version", "/v0.1/servers/pegboard%2Fgmail/versions/latest"),
]
# Entry points for admins only, which have tests of their own.
OTHERS = {
    "api-listing",  # tests/browsing/test_api.py
    "api-listing-approve",  # tests/browsing/test_held_listings.py
    "api-listing-hide",
    "api-turn",  # by the turn's id: tests/turns/test_api.py
    "api-turn-start",
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
    "api-figures-tools",  # tests/insights/test_api.py
    "api-keys",
    "api-key",
    "api-key-rotate",
    "api-access-holders",
    "api-access-rules",
    "api-access-rule",
}
OTHERS |= {  # tests/installing/test_api.py
    "api-integration-confirm",  # tests/authority/test_confirmation.py
    "api-review",  # tests/trust/test_review_pages.py
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
OTHERS |= {"api-sources", "api-source", "api-source-refresh"}  # tests/sources/test_api.py
OTHERS |= {"api-meta"}  # the same for everybody
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.path} {way.query or ''}")


def told(response: HttpResponse, *names: str) -> tuple[int, str, dict[str, str]]:
    """Return status, body and headers, without changing values and the names that were sent."""
    sent = response.content.decode()
    body = re.sub(r'"(turn_id|call_id)":"[^"]*"', r'"\1":""', sent)
    body = re.sub(r'"timings":\{[^}]*\}', '"timings":{}', body)
    for name in names:
        body = body.replace(name, "NAME")
    headers = dict(response.headers)
    if body != sent:
        del headers["Content-Length"]
    return response.status_code, body, headers


@pytest.fixture
def people(invited: People, db: None) -> People:
    """The people, rolled back after each test: creating them takes longer than the requests."""
    return deepcopy(invited)


@pytest.fixture
def client(people: People) -> Client:
    remember(people.send, people.alice, people.support)
    return client_of(people.support)


@every_way
def test_alice_is_told_about_gmail(client: Client, way: Way) -> None:
    response = way.ask(client, "alice")

    assert response.status_code == 200
    if way.route not in {"api-stats"} and "query" not in way.query:
        assert "gmail" in response.content.decode()


@every_way
def test_charlie_is_told_nothing_about_gmail(people: People, way: Way) -> None:
    response = way.ask(client_of(people.finance), "charlie")

    assert "gmail" not in told(response, "gmail__send_email")[1]


@every_way
def test_key_of_another_group_speaks_for_nobody_of_this_one(people: People, way: Way) -> None:
    response = way.ask(client_of(people.finance), "alice")

    assert response.status_code == 403


def hide_something(people: People, random: Random) -> None:
    """Create another forbidden capability, with names and words similar to alice's."""
    action = f"send_email_{random.randrange(10**6)}"
    words = {"action": action, "description": f"{MESSAGE} {action}", "vector": [1, 0, 0]}
    words["category"] = random.choice(["communication", "other", "payments"])
    words["required_tools"] = ["gmail__send_email", "gmail__search"]
    match random.randrange(7):
        case 0:
            CapabilityFactory.create(integration=people.payroll, **words)
        case 1:
            CapabilityFactory.create(integration=people.wiki, **words)
        case 2:
            CapabilityFactory.create(integration=people.gmail, state="quarantined", **words)
        case 3:
            CapabilityFactory.create(integration=people.gmail, ai_access="blocked", **words)
        case 4:
            denied = CapabilityFactory.create(integration=people.gmail, core=True, **words)
            root = Space.objects.get(group=people.support, parent=None)
            lay_down(Rule.Effect.DENY, denied, root)
        case 5:
            off = IntegrationFactory.create(
                slug=f"a-{action}", enabled=False, connection="disconnected"
            )
            give(off, people.support)
            CapabilityFactory.create(integration=off, pinned=True, **words)
        case 6:
            away = IntegrationFactory.create(slug=f"b-{action}", connection="disconnected")
            CapabilityFactory.create(integration=away, core=True, **words)
    hidden = Capability.objects.latest("pk")
    for user in (people.bob, people.alice):
        remember(hidden, user, people.support)


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


LOSSES: dict[str, Callable[[People], object]] = {
    "the group's grant is revoked": lambda people: take_away(people.gmail, people.support),
    "a rule denies it": lambda people: lay_down(
        Rule.Effect.DENY, people.gmail, Space.objects.get(group=people.support)
    ),
    "the integration is disabled": lambda people: change(people.gmail, enabled=False),
    "the integration is quarantined": lambda people: change(people.gmail, state="quarantined"),
    "the integration is uninstalled": lambda people: people.gmail.delete(),
    "alice leaves the group": lambda people: people.alice.groups.clear(),
    "alice is deactivated": lambda people: change(people.alice, is_active=False),
    "the group is removed": lambda people: people.support.delete(),
}


def change(row: Any, **values: Any) -> None:
    type(row).objects.filter(pk=row.pk).update(**values)


@every_way
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_lost_right_is_gone_from_the_next_request(
    people: People, client: Client, way: Way, loss: Callable[[People], object]
) -> None:
    way.ask(client, "alice")
    list_names(caller=people.caller)

    loss(people)

    response = way.ask(client, "alice")
    assert response.status_code in {200, 401, 403, 404}
    assert "gmail" not in told(response, "gmail__send_email")[1]


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
        client = Client()
        client.force_login(user)
        response = client.get("/find/", {"q": words}, headers={"HX-Request": "true"})
        return response.content.decode()

    with override_settings(STORAGES=WITHOUT_HASHES):
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
