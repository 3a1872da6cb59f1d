"""Definitions under review are absent from all entry points, as if never received."""

from typing import Any

import pytest
from django.test import Client

from catalog.models import Capability, Embedding
from catalog.registration.definition_comparison import store_definitions
from catalog.trust.tool_list import parse_definition, reconstruct_definition
from discovery.calls.execution import NeedsApprovalError
from discovery.mcp.answers.dispatch import call_meta_tool
from discovery.models import Call
from tests.access.people import People, client_of, invite
from tests.access.ways import WAYS, Way, told
from tests.web.conftest import client_with, new_key


@pytest.fixture
def people(db: None) -> People:
    return invite()


def says(people: People, *, also: bool) -> None:
    """gmail's first definitions; later one changes, and one is added."""
    tools = [parse_definition(reconstruct_definition(one)) for one in (people.send, people.search)]
    if also:
        tools[0]["description"] = "Quince: send an email, search the pages."
        tools.append({"name": "quince_mail", "description": "Quince: send an email."})
    store_definitions(integration=people.gmail, tools=tools, by=None)


def asked(client: Client, way: Way) -> tuple[int, str]:
    status, body, _ = told(way.ask(client, "alice", "gmail__search"), "gmail__search")
    return status, body


@pytest.mark.django_db
def test_no_way_in_tells_of_what_waits(people: People) -> None:
    client = client_of(people.support)
    says(people, also=False)
    promises = set(Embedding.objects.values_list("capability", "text_hash"))

    says(people, also=True)
    with_both = [asked(client, way) for way in WAYS]
    assert set(Embedding.objects.values_list("capability", "text_hash")) == promises
    people.send.refresh_from_db()
    assert (people.send.state, "Quince" in people.send.description) == ("quarantined", False)
    # The same catalogue without the tool, and without pending reviews.
    Capability.objects.filter(pk=people.send.pk).update(state="pending")
    people.gmail.definitions.all().delete()
    without = [asked(client, way) for way in WAYS]

    assert not [way for way, (_, body) in zip(WAYS, with_both, strict=True) if "uince" in body]
    assert not [way for way, (_, body) in zip(WAYS, with_both, strict=True) if "send_email" in body]
    assert with_both == without


@pytest.mark.django_db
def test_call_of_what_has_changed_is_told_to_who_could_use_it_alone(people: People) -> None:
    says(people, also=False)
    says(people, also=True)
    group, finance = (new_key(one, "execute") for one in (people.support, people.finance))
    body = {"arguments": {}, "name": people.send.full_name}

    own = execute(group, {**body, "user": "alice"})
    new = execute(group, {**body, "user": "alice", "name": "gmail__quince_mail"})
    foreign = execute(finance, {**body, "user": "charlie"})
    unknown = execute(finance, {**body, "user": "charlie", "name": "gmail__no_such"})

    assert (own.status_code, new.status_code, foreign.status_code) == (409, 404, 404)
    assert "needs_approval" in own.json()["detail"]
    assert foreign.json()["detail"].replace("send_email", "no_such") == unknown.json()["detail"]
    with pytest.raises(NeedsApprovalError):
        call_meta_tool(caller=people.caller, name="execute_tool", arguments={"name": body["name"]})
    assert not Call.objects.exists()


def execute(key: str, body: dict[str, Any]) -> Any:
    return client_with(key).post("/api/v1/execute", body, "application/json")
