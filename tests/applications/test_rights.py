"""An application reaches what it may, at every surface, and never more than its callers have."""

import json
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acl.keys.lifecycle import create_key, holder_of, rotate_key
from acl.models import Application, AuditEntry
from acl.rights.delegation import DelegationRefused
from catalog.access.explanation import explain
from catalog.models import Capability, Integration, Rule
from discovery.calls.approval_queue import withdraw_calls
from discovery.calls.execution import begin
from discovery.models import Call, Turn
from tests.access.people import People
from tests.access.ways import WAYS, Way, told
from tests.applications.applications import key_of, make_application
from tests.examples import EXAMPLES
from tests.factories import (
    CapabilityFactory,
    IntegrationFactory,
    UserFactory,
    give,
    lay_down,
    take_away,
)
from tests.sessions import session_of

pytestmark = pytest.mark.django_db
SEND, PAGE = "gmail__send_email", "wiki__read_page"
MCP: list[tuple[str, dict[str, Any]]] = [
    ("/mcp", {"method": "tools/list"}),
    ("/mcp/gmail", {"method": "tools/list"}),
    ("/mcp", {"method": "tools/call", "params": {"name": "list_categories", "arguments": {}}}),
    ("/mcp", {"method": "resources/list"}),
    ("/mcp", {"method": "prompts/list"}),
]


def answers(client: Client) -> list[Any]:
    """Return what every way and the MCP server answer alice."""
    names = (SEND, PAGE)
    rest = [
        told(way.ask(client, "alice", name))[:2]
        for way in WAYS
        for name in (names if way.names_one else names[:1])
    ]
    return [*rest, *(ask_mcp(client, path, message) for path, message in MCP)]


def ask_mcp(client: Client, path: str, message: dict[str, Any]) -> Any:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, **message})
    accept = {"Accept": "application/json, text/event-stream"}
    response = client.post(path, body, content_type="application/json", headers=accept)
    return response.status_code, response.content


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_at_every_surface_it_is_as_if_the_others_were_not_granted(
    people: People, seed: int
) -> None:
    random = Random(seed)
    with transaction.atomic():
        give(people.payroll, people.support)
        granted: dict[Integration, Integration | Capability] = {
            people.gmail: people.gmail,
            people.wiki: people.read_page,
            people.payroll: people.payroll,
        }
        allowed = random.sample(list(granted), random.randint(1, 3))
        application = make_application(people.support, *allowed)
        _, client = key_of(application, people.support, owner=people.alice)

        limited = answers(client)
        Application.objects.filter(pk=application.pk).update(integrations=[])
        for integration, target in granted.items():
            if integration not in allowed:
                take_away(target, people.support)
        without_grants = answers(client)
        transaction.set_rollback(True)

    assert limited == without_grants


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.path} {way.query or ''}")
def test_nothing_of_what_it_may_not_reach_is_told(people: People, way: Way) -> None:
    _, client = key_of(make_application(people.support, people.wiki), people.support)

    response = way.ask(client, "alice", SEND)

    assert "gmail" not in told(response, SEND)[1]


def test_explain_says_that_it_is_not_allowed_to_the_application(people: People) -> None:
    make_application(people.support, people.wiki, name="Website")
    admin = session_of(UserFactory.create(username="root", is_staff=True))
    question = {"user": "alice", "group": "support", "capability": SEND}

    answer = admin.get("/api/v1/access/explain", {**question, "application": "Website"}).json()
    plain = admin.get("/api/v1/access/explain", question).json()

    assert (answer["decision"], plain["decision"]) == ("no", "allow")
    assert answer["because"] == "gmail is not allowed to the application Website."
    assert [step["kind"] for step in answer["steps"] if step["decides"]] == ["application"]
    reach = admin.get("/api/v1/access/reach", {"user": "alice", "application": "Website"}).json()
    assert [item["full_name"] for item in reach["items"]] == [PAGE]
    for name, count in ((SEND, 0), (PAGE, 2)):
        query = {"capability": name, "application": "Website"}
        assert admin.get("/api/v1/access/holders", query).json()["count"] == count


def test_a_rule_that_allows_adds_nothing_to_what_an_application_may_reach(people: People) -> None:
    application = make_application(people.support, people.wiki)
    space = people.support.spaces.get(parent=None)
    lay_down(Rule.Effect.ALLOW, people.gmail, space)
    caller = people.caller

    explanation = explain(caller=caller, full_name=SEND)
    _, client = key_of(application, people.support)
    answer = client.post(
        "/api/v1/execute", {"user": "alice", "name": SEND}, content_type="application/json"
    )

    assert explanation is not None
    assert explanation.decision == "allow"
    assert answer.status_code == 404


def test_a_key_of_an_application_names_no_other(people: People) -> None:
    make_application(people.support, name="Intranet")
    _, client = key_of(make_application(people.support, name="Website"), people.support)

    def status(name: str) -> int:
        query = {"user": "alice", "application": name}
        return client.get("/api/v1/capabilities", query).status_code

    assert [status(name) for name in ("Website", "Intranet", "nobody's")] == [200, 403, 403]


def test_a_key_of_none_names_one_of_its_groups_to_get_less(people: People) -> None:
    make_application(people.support, people.wiki, name="Website")
    make_application(people.finance, name="Payroll chat")
    _, client = key_of(None, people.support)

    def names(**query: str) -> Any:
        answer = client.get("/api/v1/names", {"user": "alice", **query})
        return answer.json() if answer.status_code == 200 else answer.status_code

    assert SEND in str(names())
    assert SEND not in str(names(application="Website"))
    assert names(application="Payroll chat") == names(application="unknown") == 403


def test_a_key_of_an_application_makes_keys_of_it_only(people: People) -> None:
    boss = UserFactory.create(username="boss", is_staff=True, groups=[people.support])
    website, intranet = (make_application(people.support) for _ in range(2))
    _, raw = create_key(
        by=None,
        name="admin",
        group=people.support,
        scopes=["admin", "select"],
        owner=boss,
        application=website,
    )
    holder = holder_of(raw)
    fields = {"name": "more", "group": people.support, "scopes": ["select"], "owner": boss}

    key, _ = create_key(by=holder, **fields)  # type: ignore[arg-type]
    rotated, _ = rotate_key(by=holder, key=key)
    with pytest.raises(DelegationRefused) as refused:
        create_key(by=holder, application=intranet, **fields)  # type: ignore[arg-type]

    assert {key.application, rotated.application} == {website}
    assert refused.value.field == "application"
    entry = AuditEntry.objects.filter(action="key.created").latest("pk")
    assert entry.details["application"] == website.name


def test_what_waits_ends_when_the_application_may_no_longer_reach_it(people: People) -> None:
    Capability.objects.filter(pk=people.send.pk).update(ai_access="propose")
    application = make_application(people.support)
    waiting = []
    for each in (application, make_application(people.support), None):
        _, client = key_of(each, people.support)
        body = {"user": "alice", "name": SEND, "arguments": {}}
        answer = client.post("/api/v1/execute", body, content_type="application/json").json()
        waiting.append(Call.objects.get(pk=answer["call_id"]))

    Application.objects.filter(pk=application.pk).update(integrations=[people.wiki.pk])
    withdraw_calls()

    states = [Call.objects.get(pk=call.pk).state for call in waiting]
    assert states == ["cancelled", "waiting_approval", "waiting_approval"]
    assert waiting[0].application_id == waiting[0].caller.application_id == application.pk


def test_what_waits_of_a_deleted_application_has_no_rights(people: People) -> None:
    Capability.objects.filter(pk=people.send.pk).update(ai_access="propose")
    application = make_application(people.support)
    key, client = key_of(application, people.support)
    body = {"user": "alice", "name": SEND, "arguments": {}}
    answer = client.post("/api/v1/execute", body, content_type="application/json").json()

    type(key).objects.filter(pk=key.pk).update(application=None)
    Application.objects.filter(pk=application.pk).delete()
    withdraw_calls()

    assert Call.objects.get(pk=answer["call_id"]).state == "cancelled"


def test_applications_of_one_person_do_not_read_each_others_calls_and_turns(
    people: People,
) -> None:
    applications = [make_application(people.support) for _ in range(2)]
    clients = [key_of(each, people.support)[1] for each in applications]
    body = {"user": "alice", "message": "send an email", "conversation": "4711"}
    clients[0].post("/api/v1/plan", body, content_type="application/json")
    turn = Turn.objects.get()

    seen = [client.get(f"/api/v1/turns/{turn.pk}").status_code for client in clients]

    assert seen == [200, 404]
    assert turn.application_id == applications[0].pk


@pytest.mark.parametrize("executes", [True, False, None])
@pytest.mark.parametrize("way", ["client", "server", "skill"])
@pytest.mark.parametrize("joined", [True, False])
def test_what_nobody_carries_out_is_refused_where_the_application_has_said_so(
    people: People, executes: bool | None, way: str, joined: bool
) -> None:
    defaults = {} if executes is None else {"client_executes": executes}
    application = make_application(people.support, defaults=defaults) if joined else None
    row = IntegrationFactory.create(
        slug="thing",
        kind={"client": "builtin", "server": "mcp", "skill": "skill"}[way],
        transport="http" if way == "server" else "",
    )
    kind = "skill" if way == "skill" else "tool"
    tool = CapabilityFactory.create(integration=row, action="go", kind=kind)
    give(row, people.support)
    caller = replace(people.caller, application_id=application.pk if application else None)

    call = begin(caller=caller, full_name=tool.full_name, arguments={}).call

    is_refused = joined and executes is False and way == "client"
    assert (call.reason == "nobody_executes") == is_refused
    assert (call.state == Call.State.FAILED) == is_refused
    assert ("carries out no calls" in call.message) == is_refused
