"""Definitions and calls of meta-tools: arguments, rights, approval, and who carries them out."""

import json
import re
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from acl.models import Space
from catalog.formats.descriptors import JSONObject
from catalog.models import Rule
from catalog.readiness.obstacles import OWN_INTEGRATIONS
from catalog.token_counter import estimate_tokens
from discovery.calls.argument_check import (
    MOST_BYTES,
    MOST_DEFECTS,
    ArgumentsRefusedError,
    check_arguments,
    read_arguments,
)
from discovery.calls.execution import MOST_CONTENT, NotFoundError, execute
from discovery.metatools import EXPLORING, META_TOOLS, MetaTool
from marketplace.offers.kinds.starter import starter_collection
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
    [({}, "to"), ({"to": 1}, "to"), ({"to": "bob", "times": "two"}, "times"),
     ({"to": "bob", "cc": "eve"}, "cc"), (["bob"], "")],
)  # fmt: skip
def test_wrong_argument_is_named(people: People, mail: Any, arguments: Any, argument: str) -> None:
    with pytest.raises(ArgumentsRefusedError) as refused:
        execute(caller=people.caller, full_name="gmail__mail", arguments=arguments)

    assert refused.value.defects[0][0] == argument


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
    body["arguments"] = {"to": "bob", "times": "two"}
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


def refusal(schema: dict[str, Any] | None, arguments: Any) -> str:
    with pytest.raises(ArgumentsRefusedError) as refused:
        check_arguments(schema, arguments)
    return refused.value.defects[0][1]


def doubling(levels: int) -> dict[str, Any]:
    """Build a schema in which each definition names the next one twice."""
    twice = {
        f"a{level}": {"anyOf": [{"$ref": f"#/$defs/a{level + 1}"}] * 2} for level in range(levels)
    }
    last = {f"a{levels}": {"type": "integer"}}
    return {"properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": twice | last}


def test_without_a_schema_any_object_fits() -> None:
    check_arguments(None, {"anything": [1, None]})
    assert refusal(None, "text") == "The arguments must be an object."


@pytest.mark.parametrize(
    "reference",
    [
        "http://127.0.0.1:9/x",
        "file:///etc/passwd",
        "other.json#/x",
        "#nowhere",
        "#/$defs/none",
        "#/required/x",
        "#/type/a",
    ],
)
def test_reference_to_outside_is_not_followed(reference: str) -> None:
    schema = {"type": "object", "required": ["x"], "properties": {"x": {"$ref": reference}}}

    assert refusal(schema, {"x": 1}) == "The tool's own schema refers to something outside of it."


@pytest.mark.parametrize("levels", [14, 60, 900])
def test_schema_that_would_take_for_ever_is_refused_at_once(levels: int) -> None:
    assert "too complex" in refusal(doubling(levels), {"x": "s"})


def test_schema_that_branches_into_itself_is_refused() -> None:
    tree = {"properties": {"x": {"anyOf": [{"$ref": "#"}] * 5}, "y": {"type": "integer"}}}

    assert "too complex" in refusal(tree, {"x": {"x": {"y": "s"}}})


def test_tree_and_circle_are_checked() -> None:
    tree = {"properties": {"of": {"type": "array", "items": {"$ref": "#"}}, "n": {"type": "null"}}}
    circle = {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
    }

    check_arguments(tree, {"of": [{"of": [{"n": None}]}]})
    check_arguments(circle, {})
    with pytest.raises(ArgumentsRefusedError) as refused:
        check_arguments(tree, {"of": [{"n": 1}]})
    assert refused.value.defects[0][0] == "of.0.n"


def test_pattern_that_backtracks_is_answered() -> None:
    schema = {"properties": {"x": {"pattern": "^(a+)+$"}}}

    assert refusal(schema, {"x": "a" * 5_000 + "!"}) == 'It does not match "^(a+)+$".'


def test_arguments_are_bounded() -> None:
    deep: Any = 1
    for _ in range(40):
        deep = {"x": deep}

    assert "nested deeper" in refusal(None, deep)
    assert "larger than" in refusal(None, {"x": "y" * MOST_BYTES})
    assert len(refusal({"properties": {"x": {"type": "null"}}}, {"x": "y" * 9_999})) <= 200


@pytest.mark.parametrize(
    "broken",
    [
        {"type": "strange"},
        {"type": "object", "properties": None, "required": None},
        {"properties": {"a": {"type": "string", "required": True}}},
        {"properties": {"a": {"pattern": "(?<never closed"}}},
        {"required": ["a", 5]},
        {"anyOf": []},
        {"$schema": "https://example.com/of-our-own"},
    ],
)
def test_broken_part_of_a_stored_schema_stops_no_call(broken: dict[str, Any]) -> None:
    check_arguments(broken, {"a": "text"})


def test_rest_of_a_broken_schema_still_holds() -> None:
    schema = {"properties": {"a": {"type": "integer"}, "b": None}, "required": None}

    assert refusal(schema, {"a": "text"}) == "It must be of type integer."


@given(st.data())
def test_all_that_is_wrong_is_named_at_once(data: st.DataObject) -> None:
    """A model gets one answer to correct its arguments by, not one for each defect."""
    names = [f"argument_{place}" for place in range(6)]
    required = data.draw(st.lists(st.sampled_from(names), unique=True))
    given_names = data.draw(st.lists(st.sampled_from(names), unique=True))
    wrong = data.draw(
        st.lists(st.sampled_from(given_names), unique=True) if given_names else st.just([])
    )
    unknown = data.draw(
        st.lists(st.sampled_from(["other", "argument 1", "x"]), unique=True, max_size=2)
    )
    schema = {
        "properties": {name: {"enum": ["right", 1]} for name in names},
        "required": required,
        "additionalProperties": False,
    }
    arguments = {name: "wrong" if name in wrong else "right" for name in given_names}
    arguments |= dict.fromkeys(unknown, "any")
    defects = {*wrong, *unknown, *(set(required) - set(given_names))}

    if not defects:
        return check_arguments(schema, arguments)
    with pytest.raises(ArgumentsRefusedError) as refused:
        check_arguments(schema, arguments)
    reasons = dict(refused.value.defects)
    assert set(reasons) <= defects
    assert len(reasons) == min(len(defects), MOST_DEFECTS)
    for name in reasons:
        assert name in str(refused.value)
    if "argument 1" in reasons:
        assert reasons["argument 1"].endswith("Do you mean argument_0 or argument_1?")
    if reasons.keys() & set(wrong):
        assert 'It must be one of "right", 1.' in reasons.values()
    return None


BOOKING: dict[str, Any] = {
    "type": "object",
    "required": ["guests"],
    "properties": {
        "guests": {"type": "integer"},
        "note": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "until": {"type": ["string", "null"]},
        "kind": {"$ref": "#/$defs/kind"},
        "colour": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "size": {"enum": ["s", None]},
        "room": {"type": "object", "properties": {"floor": {"type": "integer"}, "any": {}}},
    },
    "$defs": {"kind": {"type": "string"}},
}


@pytest.mark.parametrize("name", [*BOOKING["properties"], "unknown"])
def test_null_stays_only_where_it_is_needed_or_allowed(name: str) -> None:
    kept = read_arguments(BOOKING, {name: None})

    assert (name in kept) == (name in ("guests", "until", "colour", "size", "unknown"))


def test_nulls_of_strict_clients_are_left_out_before_the_check() -> None:
    room = {"floor": None, "any": None}

    kept = read_arguments(BOOKING, {"guests": 2, "note": None, "tags": None, "room": room})

    check_arguments(BOOKING, kept)
    assert kept == {"guests": 2, "room": {"any": None}}
    assert refusal(BOOKING, read_arguments(BOOKING, {"guests": None})) != ""


@pytest.mark.parametrize("schema", [None, {}, {"properties": None}, {"properties": {"a": None}}])
def test_nulls_stay_where_no_schema_says_anything(schema: dict[str, Any] | None) -> None:
    assert read_arguments(schema, {"a": None}) == {"a": None}


JSON = "application/json"
MAIL, ACTION, TO_BOB = "gmail__mail", "mail", {"to": "bob"}
BY_SERVER = {"server_name": "gmail", "tool_name": ACTION}


def by_rest(client: Client, given: dict[str, Any]) -> Any:
    return client.post("/api/v1/execute", {"user": "alice", "name": MAIL, **given}, JSON)


def by_execute_tool(client: Client, given: dict[str, Any]) -> Any:
    body = {"user": "alice", "arguments": {"name": MAIL, **given}}
    return client.post("/api/v1/meta/execute_tool", body, JSON)


def by_call_tool(client: Client, given: dict[str, Any]) -> Any:
    body = {"user": "alice", "arguments": {**BY_SERVER, **given}}
    return client.post("/api/v1/meta/mcp__call_tool", body, JSON)


def by_the_capability(client: Client, given: dict[str, Any]) -> Any:
    body = {"user": "alice", "name": "mcp__call_tool", "arguments": {**BY_SERVER, **given}}
    return client.post("/api/v1/execute", body, JSON)


WAYS = [by_rest, by_execute_tool, by_call_tool, by_the_capability]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
Way = Callable[[Client, dict[str, Any]], Any]


@pytest.fixture
def client(people: People) -> Client:
    schema = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
    CapabilityFactory.create(integration=people.gmail, action=ACTION, input_schema=schema)
    builtin = IntegrationFactory.create(slug="mcp", kind="builtin")
    give(builtin, people.support)
    # As an older release stored it.
    former = {"type": "object", "properties": {"params": {}}, "additionalProperties": False}
    CapabilityFactory.create(integration=builtin, action="call_tool", input_schema=former)
    return client_with(new_key(people.support, "execute"))


@every_way
@pytest.mark.parametrize("name", ["arguments", "params"])
def test_both_names_are_accepted(client: Client, way: Way, name: str) -> None:
    answer = way(client, {name: TO_BOB})

    assert answer.status_code == 200, answer.json()
    assert '"to":"bob"' in answer.content.decode().replace('": "', '":"')


@every_way
def test_both_names_at_once_are_refused_by_name(client: Client, way: Way) -> None:
    answer = way(client, {"arguments": TO_BOB, "params": TO_BOB})

    problem = answer.json()
    assert (answer.status_code, problem["field"].rpartition(".")[2]) == (400, "params")
    assert "`arguments` or `params`, not both" in problem["detail"]


@every_way
def test_refusal_of_an_argument_does_not_depend_on_the_name(client: Client, way: Way) -> None:
    answers = [way(client, {name: {"to": 1}}) for name in ("arguments", "params")]

    told = [{**answer.json(), "request_id": "", "result": ""} for answer in answers]
    assert told[0] == told[1]
    assert [answer.status_code for answer in answers] in ([400, 400], [200, 200])


def test_published_schemas_have_the_one_name(client: Client) -> None:
    schema = client.get("/api/schema/", {"format": "json"}).json()["components"]["schemas"]

    published = [
        set(schema["ExecuteRequestRequest"]["properties"]),
        *(META_TOOLS[name].parameters.keys() for name in ("execute_tool", "mcp__call_tool")),
    ]
    assert all("arguments" in names and "params" not in names for names in published)


INTEGRATIONS = {"mcp", "tool_discovery"}
every_tool = pytest.mark.parametrize("tool", META_TOOLS.values(), ids=META_TOOLS)


def test_registry_has_what_the_specification_names() -> None:
    assert list(META_TOOLS) == [
        "list_categories",
        "browse_category",
        "search_tools",
        "get_tool",
        "execute_tool",
        "get_call",
        "discover_capabilities",
        "tool_discovery__find",
        "tool_discovery__list_all",
        "tool_discovery__describe",
        "mcp__list_servers",
        "mcp__call_tool",
        "mcp__register_server",
    ]


@every_tool
def test_definition_is_legal_for_every_provider(tool: MetaTool) -> None:
    schema = tool.input_schema

    jsonschema.Draft202012Validator.check_schema(schema)
    assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", tool.name)
    assert set(schema["required"]) <= set(schema["properties"])
    assert 0 < len(tool.description) <= 250


def test_definitions_stay_within_their_budgets() -> None:
    assert estimate_tokens(META_TOOLS["discover_capabilities"].as_tool()) <= 85
    assert sum(estimate_tokens(tool.as_tool()) for tool in EXPLORING) <= 600


def test_starter_collection_says_the_same_of_those_that_are_its_capabilities() -> None:
    collected = {
        capability.full_name: (
            capability.display_name, capability.description, capability.input_schema,
        )
        for capability in starter_collection().capabilities
        if capability.integration in INTEGRATIONS
    }  # fmt: skip

    assert collected == {
        tool.name: (tool.title, tool.description, tool.input_schema)
        for tool in META_TOOLS.values()
        if tool.name.split("__")[0] in INTEGRATIONS
    }


@pytest.mark.parametrize("kind", ["any", "all"])
@pytest.mark.parametrize("name", ["discover_capabilities", "search_tools"])
def test_every_kind_has_two_names(name: str, kind: str) -> None:
    jsonschema.validate({"query": "mail", "kind": kind}, META_TOOLS[name].input_schema)


def test_integrations_of_own_tools_are_those_that_pegboard_answers_itself() -> None:
    """Compare the rule for tools with the rule for integrations."""
    own = {name.partition("__")[0] for name in META_TOOLS if "__" in name}

    assert own == set(OWN_INTEGRATIONS)


ROW = {
    "type": "object",
    "required": ["a"],
    "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
}
# Each way in which a schema has an object, by the schema of the argument `it`.
WITHIN: dict[str, tuple[JSONObject, Callable[[Any], Any]]] = {
    "itself": (ROW, lambda row: row),
    "reference": ({"$ref": "#/$defs/row"}, lambda row: row),
    "allOf": ({"allOf": [{"type": "object"}, {"$ref": "#/$defs/row"}]}, lambda row: row),
    "anyOf": ({"anyOf": [{"$ref": "#/$defs/row"}, {"type": "null"}]}, lambda row: row),
    "list": ({"type": "array", "items": ROW}, lambda row: [row, row]),
    "object": ({"type": "object", "properties": {"x": ROW}}, lambda row: {"x": row}),
}
# What a model may write for each type, and what it means; None for what it does not mean.
MEANT = [
    *(
        ("integer", " 12 ", 12),
        ("integer", "1.5", None),
        ("number", "1.5", 1.5),
        ("number", "-3", -3),
    ),
    *(
        ("boolean", "true", True),
        ("boolean", "yes", None),
        ("boolean", "1", None),
        ("boolean", "False", False),
        ("integer", "3.0", 3),
        ("number", "1e3", 1000),
        ("number", ".5", 0.5),
    ),
    *(("object", '{"k": 1}', {"k": 1}), ("object", "[1]", None), ("array", "[1, 2]", [1, 2])),
    *(
        ("array", "{}", None),
        ("object", "{k: 1}", None),
        ("integer", "1e9", None),
        ("integer", "0x1", None),
    ),
    *(("string", "12", "12"), ("string", "true", "true"), ("string", "{}", "{}")),
    *((["integer", "string"], "12", "12"), (["integer", "null"], "12", 12)),
]


@pytest.mark.parametrize("within", WITHIN)
def test_arguments_are_read_as_meant_wherever_they_are(within: str) -> None:
    schema, around = WITHIN[within]
    whole = {"type": "object", "properties": {"it": schema}, "$defs": {"row": ROW}}

    meant = read_arguments(whole, {"it": around({"a": "7", "b": None})})

    assert meant == {"it": around({"a": 7})}
    check_arguments(whole, meant)
    # Once read, they stay: what is approved is what is sent.
    assert read_arguments(whole, meant) == meant


@pytest.mark.parametrize("in_text", [False, True])
@pytest.mark.parametrize(("kind", "text", "meaning"), MEANT)
def test_text_is_what_it_has_where_the_schema_takes_no_text(
    kind: Any, text: str, meaning: Any, in_text: bool
) -> None:
    schema: JSONObject = {"type": "object", "properties": {"it": {"type": kind}}}
    if in_text:
        schema = {"type": "object", "properties": {"all": schema}}

    given_text = {"it": text}
    read = read_arguments(schema, {"all": json.dumps(given_text)} if in_text else given_text)

    expected = {"it": text if meaning is None else meaning}
    assert read == ({"all": expected} if in_text else expected)
    if meaning is None:
        assert refusal(schema, read) != ""
    else:
        check_arguments(schema, read)


@pytest.mark.parametrize("text", ["", "null", "None", " "])
@pytest.mark.parametrize("kind", ["integer", "boolean", "array", "object"])
def test_text_that_says_nothing_is_none(kind: str, text: str) -> None:
    schema: JSONObject = {"type": "object", "properties": {"it": {"type": kind}}}
    nullable: JSONObject = {"type": "object", "properties": {"it": {"type": [kind, "null"]}}}

    assert read_arguments(schema, {"it": text}) == {}
    assert read_arguments(nullable, {"it": text}) == {"it": None}
    assert refusal({**schema, "required": ["it"]}, {"it": None}) != ""


@pytest.mark.parametrize("schema", [None, {"type": "object", "properties": {"it": {}}}])
def test_all_arguments_may_be_one_text(schema: JSONObject | None) -> None:
    assert read_arguments(schema, '{"it": "7"}') == {"it": "7"}
    assert read_arguments(schema, "") == {}
    assert read_arguments(schema, "no JSON") == "no JSON"


CHOICES = {"it": {"enum": ["asc", "Desc", 1, "a-b"]}}


@pytest.mark.parametrize(
    ("written", "meaning"),
    [("asc", "asc"), ("ASC", "asc"), (" desc ", "Desc"), ("1", 1), ("a_b", "a_b"), ("x", "x")],
)
def test_choice_is_read_in_other_letters_where_one_is_meant(written: str, meaning: Any) -> None:
    schema = {"type": "object", "properties": CHOICES}

    assert read_arguments(schema, {"it": written}) == {"it": meaning}


def test_choice_that_two_could_be_stays() -> None:
    schema = {"type": "object", "properties": {"it": {"enum": ["a", "A", "1", 1]}}}

    assert read_arguments(schema, {"it": " a"}) == {"it": " a"}
    assert read_arguments(schema, {"it": " 1"}) == {"it": " 1"}


@pytest.mark.parametrize("value", ["one", 7, 1.5, True])
def test_one_value_is_a_list_of_it(value: Any) -> None:
    schema = {"type": "object", "properties": {"it": {"type": "array"}}}
    either = {"type": "object", "properties": {"it": {"type": ["array", "string"]}}}

    assert read_arguments(schema, {"it": value}) == {"it": [value]}
    assert read_arguments(either, {"it": value}) == {"it": value}
    assert read_arguments(schema, {"it": "one, two"}) == {"it": "one, two"}


@pytest.mark.parametrize("within", WITHIN)
def test_required_argument_that_is_missing_has_its_default(within: str) -> None:
    schema, around = WITHIN[within]
    row = {**ROW, "properties": {"a": {"type": "integer", "default": 3}, "b": {"default": "x"}}}
    text = json.dumps({"type": "object", "properties": {"it": schema}, "$defs": {"row": ROW}})
    whole = json.loads(text.replace(json.dumps(ROW), json.dumps(row)))

    assert read_arguments(whole, {"it": around({})}) == {"it": around({"a": 3})}


@pytest.mark.parametrize("written", ["user_id", "UserId", "user-id", "USERID"])
def test_name_is_read_in_another_style(written: str) -> None:
    schema = {"type": "object", "properties": {"userId": {"type": "integer"}}}
    twice = {"type": "object", "properties": {"userId": {}, "USER_ID": {}}}

    assert read_arguments(schema, {written: "7"}) == {"userId": 7}
    assert read_arguments(schema, {written: "7", "userId": 8}) == {written: "7", "userId": 8}
    assert read_arguments(twice, {written: "7"}) == {written: "7"}


@pytest.mark.parametrize("wrapper", ["arguments", "input", "kwargs"])
def test_arguments_are_read_in_a_wrapper(wrapper: str) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    known = {"type": "object", "properties": {wrapper: {"type": "object"}, "city": {}}}

    assert read_arguments(schema, {wrapper: {"city": "Ulm"}}) == {"city": "Ulm"}
    assert read_arguments(schema, {wrapper: {"other": 1}}) == {wrapper: {"other": 1}}
    assert read_arguments(known, {wrapper: {"city": "Ulm"}}) == {wrapper: {"city": "Ulm"}}
