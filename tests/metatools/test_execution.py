"""Execution of a capability: rights, arguments, approval, and who carries it out."""

from typing import Any

import pytest

from acl.models import Space
from catalog.models import Rule
from discovery.calls.argument_check import ArgumentsRefusedError
from discovery.calls.execution import MOST_CONTENT, NotFoundError, execute
from tests.access.people import People
from tests.factories import CapabilityFactory, IntegrationFactory, give, lay_down
from tests.web.conftest import client_with, new_key

SCHEMA = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "times": {"type": "integer"}},
    "required": ["to"],
    "additionalProperties": False,
}


@pytest.fixture
def mail(people: People) -> Any:
    return CapabilityFactory.create(
        integration=people.gmail, action="mail", input_schema=SCHEMA, side_effect="write"
    )


def test_checked_arguments_are_handed_back(people: People, mail: Any) -> None:
    done = execute(caller=people.caller, full_name="gmail__mail", arguments={"to": "bob"})

    assert (done.status, done.arguments) == ("client_executes", {"to": "bob"})


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [({}, "to"), ({"to": 1}, "to"), ({"to": "bob", "times": "2"}, "times"),
     ({"to": "bob", "cc": "eve"}, "cc"), (["bob"], "")],
)  # fmt: skip
def test_wrong_argument_is_named(people: People, mail: Any, arguments: Any, argument: str) -> None:
    with pytest.raises(ArgumentsRefusedError) as refused:
        execute(caller=people.caller, full_name="gmail__mail", arguments=arguments)

    assert refused.value.argument == argument


def test_nothing_runs_before_a_person_says_so(people: People, mail: Any) -> None:
    lay_down(Rule.Effect.PROPOSE, mail, Space.objects.get(group=people.support))
    builtin = IntegrationFactory.create(slug="tool_discovery", kind="builtin")
    give(builtin, people.support)
    CapabilityFactory.create(integration=builtin, action="list_all", ai_access="propose")

    for name, arguments in (("gmail__mail", {"to": "bob"}), ("tool_discovery__list_all", {})):
        done = execute(caller=people.caller, full_name=name, arguments=arguments)

        assert done.status == "approval_needed"
        assert "Nothing has been run" in done.message
        assert done.result is None
    with pytest.raises(ArgumentsRefusedError):
        execute(caller=people.caller, full_name="gmail__mail", arguments={})


def test_skill_is_answered_with_its_content(people: People) -> None:
    skills = IntegrationFactory.create(slug="how-to", kind="skill")
    give(skills, people.support)
    CapabilityFactory.create(
        integration=skills, full_name="how-to", kind="skill", content="Step. " * 5_000
    )

    done = execute(caller=people.caller, full_name="how-to", arguments={})

    assert (done.status, done.truncated) == ("completed", True)
    assert done.content is not None
    assert len(done.content) == MOST_CONTENT


def test_meta_tool_that_is_a_capability_is_answered(people: People) -> None:
    builtin = IntegrationFactory.create(slug="tool_discovery", kind="builtin")
    give(builtin, people.support)
    CapabilityFactory.create(integration=builtin, action="list_all")

    done = execute(caller=people.caller, full_name="tool_discovery__list_all", arguments={})

    assert done.status == "completed"
    assert done.result is not None
    assert done.result["total"] == 4


@pytest.mark.parametrize("change", [{"ai_access": "blocked"}, {"available": False}])
def test_blocked_and_unavailable_ones_are_not_there(
    people: People, mail: Any, change: dict[str, Any]
) -> None:
    type(mail).objects.filter(pk=mail.pk).update(**change)

    with pytest.raises(NotFoundError):
        execute(caller=people.caller, full_name="gmail__mail", arguments={"to": "bob"})


def test_call_by_rest_names_the_wrong_argument(people: People, mail: Any) -> None:
    client = client_with(new_key(people.support, "execute"))
    body: dict[str, Any] = {"user": "alice", "name": "gmail__mail", "arguments": {"to": "bob"}}

    done = client.post("/api/v1/execute", body, content_type="application/json")
    body["arguments"] = {"to": "bob", "times": "2"}
    wrong = client.post("/api/v1/execute", body, content_type="application/json")
    body["name"] = "gmail__mails"
    near = client.post("/api/v1/execute", body, content_type="application/json")

    assert (done.status_code, done.json()["status"]) == (200, "client_executes")
    assert (wrong.status_code, wrong.json()["field"]) == (400, "arguments.times")
    assert near.status_code == 404
    assert "Did you mean gmail__mail?" in near.json()["detail"]


def test_looking_around_and_calling_need_scopes_of_their_own(people: People) -> None:
    looking = client_with(new_key(people.support, "discover"))
    calling = client_with(new_key(people.support, "execute"))
    kinds = "application/json"
    search = {"user": "alice", "arguments": {"query": "mail"}}
    execution = {"user": "alice", "arguments": {"name": "gmail__search"}}

    assert looking.post("/api/v1/meta/search_tools", search, kinds).status_code == 200
    assert looking.post("/api/v1/meta/execute_tool", execution, kinds).status_code == 403
    assert calling.post("/api/v1/meta/search_tools", search, kinds).status_code == 403
    assert calling.post("/api/v1/meta/execute_tool", execution, kinds).status_code == 200
    assert looking.post("/api/v1/meta/no_such", search, kinds).status_code == 404
    assert looking.get("/api/v1/meta").json()["exploring_tokens"] <= 600
