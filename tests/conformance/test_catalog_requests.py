"""Resources, prompts and completions of all servers at `/mcp`: names, rights, pages, failures."""

import string
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from catalog.models import Integration
from discovery.mcp.server import _catalog_requests as catalog_requests
from discovery.mcp.server._catalog_requests import LEFT_OUT, SERVER, publish_name, publish_uri
from discovery.models import Call, ServerRequest
from tests.access.people import People
from tests.conformance.reference_server import SKILL_FILES
from tests.factories import take_away
from tests.mcp.asking import ENVELOPE, MODERN, ask, ask_modern, error
from tests.mcp.conftest import key_of

processes = pytest.mark.processes
SLUGS = ("reference-legacy", "reference-modern")
LISTS = {
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
    "prompts/list": ("prompts", "name"),
}
slugs = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,12}", fullmatch=True)
uris = st.one_of(
    st.text(string.printable, min_size=1, max_size=40),
    st.builds(
        lambda scheme, rest: f"{scheme}://{rest}",
        st.sampled_from(["ui", "file", "pegboard"]),
        st.text(string.printable, max_size=30),
    ),
)


@given(slug=slugs, other=slugs, name=uris, is_uri=st.booleans())
def test_published_name_leads_back_to_its_server_alone(
    slug: str, other: str, name: str, is_uri: bool
) -> None:
    publish = publish_uri if is_uri else publish_name
    published = publish(slug, name)

    assert catalog_requests._own_of(slug, published, is_uri=is_uri) == name
    if other != slug and (is_uri or "__" not in slug + other):
        assert catalog_requests._own_of(other, published, is_uri=is_uri) is None
    if name.startswith("ui://"):
        assert published.startswith("ui://")  # hosts of MCP Apps read no other scheme


def _listed(key: str, method: str, path: str = "/mcp") -> list[dict[str, Any]]:
    """Return all entries, page by page."""
    cursor, entries = None, []
    while True:
        params: dict[str, Any] = {"cursor": cursor} if cursor else {}
        page = ask(key, method, params, path=path).json()["result"]
        entries += page[LISTS[method][0]]
        if (cursor := page.get("nextCursor")) is None:
            return entries


@processes
@pytest.mark.usefixtures("behind")
@pytest.mark.parametrize("at_once", [1, 25])
def test_everything_of_every_server_is_listed_and_read_by_its_name(
    people: People, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(catalog_requests, "SERVERS_AT_ONCE", at_once)
    key = key_of(people)

    for method, (_, field) in LISTS.items():
        entries = _listed(key, method)
        by_server = {
            slug: [entry for entry in entries if entry["_meta"][SERVER] == slug] for slug in SLUGS
        }
        for slug, own in by_server.items():
            at_server = _listed(key, method, f"/mcp/{slug}")
            assert [_inner(slug, entry, field) for entry in own] == at_server
        assert len({entry[field] for entry in entries}) == len(entries)
        if method == "resources/list":
            for entry in entries:
                _assert_reads_the_same(key, entry)
    got = ask(key, "prompts/get", {"name": "reference-modern__test_simple_prompt"}).json()["result"]
    assert got["messages"][0]["content"]["text"] == "This is a simple prompt for testing."
    assert set(ServerRequest.objects.values_list("user", "state")) == {
        (people.alice.pk, "completed")
    }


def _inner(slug: str, entry: dict[str, Any], field: str) -> dict[str, Any]:
    """Return the entry as its server's own address lists it."""
    name = catalog_requests._own_of(slug, entry[field], is_uri=field != "name")
    meta = {key: value for key, value in entry["_meta"].items() if key != SERVER}
    others = {key: value for key, value in entry.items() if key != "_meta"}
    return others | {field: name} | ({"_meta": meta} if meta else {})


def _assert_reads_the_same(key: str, entry: dict[str, Any]) -> None:
    slug = entry["_meta"][SERVER]
    uri = catalog_requests._own_of(slug, entry["uri"], is_uri=True)
    [here] = ask(key, "resources/read", {"uri": entry["uri"]}).json()["result"]["contents"]
    read = ask(key, "resources/read", {"uri": uri}, path=f"/mcp/{slug}").json()["result"]
    assert here == {**read["contents"][0], "uri": entry["uri"]}


@processes
@pytest.mark.usefixtures("behind")
def test_name_without_its_server_is_taken_where_one_has_it(people: People) -> None:
    key, static = key_of(people), {"uri": "test://static-text"}
    reference = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}
    complete = {"ref": reference, "argument": {"name": "arg1", "value": "a"}}

    of_two = ask(key, "resources/read", static).json()["error"]
    template = ask(key, "resources/read", {"uri": "test://template/7/data"}).json()["error"]
    only_newer = _get_asking_prompt(key, "test_input_required_result_prompt")
    nobody = ask(key, "resources/read", {"uri": "test://nobody"}).json()["error"]
    no_prompt = ask(key, "prompts/get", {"name": "none"}).json()["error"]
    greeting = {"name": "greet", "arguments": {"name": "Bo"}}
    greeted = ask(key, "tools/call", greeting).json()["result"]
    of_both = ask(key, "tools/call", {"name": "test_simple_text"}).json()["error"]
    take_away(Integration.objects.get(slug="reference-legacy"), people.support)
    alone = ask(key, "resources/read", static).json()["result"]["contents"]
    simple = ask(key, "tools/call", {"name": "test_simple_text"}).json()["result"]
    completed = ask(key, "completion/complete", complete).json()["result"]["completion"]

    for several in (of_two, template):
        assert several["code"] == -32602
        assert "pegboard://reference-legacy/test://" in several["message"]
    assert only_newer["resultType"] == "input_required"
    assert (nobody["code"], no_prompt["code"]) == (-32002, -32602)
    assert greeted["content"][0]["text"] == "Hello, Bo!"
    assert of_both["code"] == -32602
    assert alone[0]["uri"] == static["uri"]
    assert simple["content"][0]["text"].startswith("This is a simple")
    assert completed["values"] == ["a", "a-one", "a-two"]
    assert set(Call.objects.values_list("full_name", flat=True)) == {
        "reference-modern__greet",
        "reference-modern__test_simple_text",
    }


@processes
@pytest.mark.usefixtures("behind")
def test_rights_are_those_of_each_servers_own_address(people: People) -> None:
    key = key_of(people)
    begun = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "a", "version": "1"},
    }
    offered = ask(key, "initialize", begun).json()["result"]["capabilities"]
    for gone in SLUGS:
        take_away(Integration.objects.get(slug=gone), people.support)
        left = (
            {entry["_meta"][SERVER] for entry in _listed(key, "prompts/list")}
            if gone == SLUGS[0]
            else set()
        )
        asked = {"uri": f"pegboard://{gone}/test://static-text"}
        refused = ask(key, "resources/read", asked)
        assert gone not in left
        assert "result" not in refused.json()
    nothing = ask(key, "initialize", begun).json()["result"]["capabilities"]
    without = ask(key_of(people, "discover"), "prompts/list")

    assert {"resources", "prompts", "completions", "logging"} <= set(offered)
    assert set(nothing) == {"tools", "tasks"}
    assert error(ask(key, "prompts/list")) == error(without) == (200, -32601)


@processes
@pytest.mark.usefixtures("behind")
def test_server_that_fails_is_named_and_takes_nothing_from_the_others(
    people: People, settings: Settings
) -> None:
    key = key_of(people)
    broken = Integration.objects.get(slug="reference-legacy")
    Integration.objects.filter(pk=broken.pk).update(command=["/nowhere/python"])

    listed = ask(key, "prompts/list").json()["result"]
    settings.PEGBOARD_RESULT_BYTES = 10
    few = ask(key, "prompts/list").json()["result"]
    wrong = ask(key, "prompts/list", {"cursor": "bm9uZQ=="})

    assert {entry["_meta"][SERVER] for entry in listed["prompts"]} == {"reference-modern"}
    [left_out] = listed["_meta"][LEFT_OUT]
    assert left_out["server"] == "reference-legacy"
    assert left_out["reason"]
    assert few["prompts"] == []  # too long an answer is one that failed
    assert error(wrong) == (200, -32602)


@processes
@pytest.mark.usefixtures("behind")
@pytest.mark.parametrize("generation", ["modern"])
def test_questions_name_their_server(people: People) -> None:
    required = _get_asking_prompt(
        key_of(people), "reference-modern__test_input_required_result_prompt"
    )

    [question] = required["inputRequests"].values()
    title = Integration.objects.get(slug="reference-modern").title
    assert question["params"]["message"].startswith(f"{title}: ")


def _get_asking_prompt(key: str, name: str) -> Any:
    """Get a prompt as a client of 2026-07-28 that can be asked."""
    envelope = {**ENVELOPE, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "prompts/get", "Mcp-Name": name}
    params = {"name": name, "_meta": envelope}
    return ask(key, "prompts/get", params, headers).json()["result"]


@processes
@pytest.mark.usefixtures("behind")
@pytest.mark.parametrize("path", ["/mcp", "/mcp/reference-modern"])  # older ones announce none
def test_skills_of_servers_pass_with_digests_that_hold_and_none_that_needs_a_review(
    people: People, path: str
) -> None:
    key = key_of(people)

    skills, cursor = [], ""
    while True:
        params = {"cursor": cursor} if cursor else {}
        page = ask_modern(key, "skills/list", params, path=path).json()["result"]
        skills += page["skills"]
        if not (cursor := page.get("nextCursor", "")):
            break
    evil = SKILL_FILES["skill://town/evil/SKILL.md"]

    assert [skill["frontmatter"]["name"] for skill in skills] == ["refunds"] * len(skills)
    assert len(skills) == 1
    for skill in skills:
        assert skill["uri"].endswith("skill://town/refunds/SKILL.md")
        assert len(skill["resources"]) == 2
        once = ask(key, "skills/get", {"uri": skill["uri"]}, path=path).json()["result"]["skill"]
        assert once["resources"] == skill["resources"]
        for file in skill["resources"]:
            params = {"uri": file["uri"]}
            [content] = ask(key, "resources/read", params, path=path).json()["result"]["contents"]
            body = content["text"].encode()
            assert content["uri"] == file["uri"]
            assert (len(body), f"sha256:{sha256(body).hexdigest()}") == (
                file["size"],
                file["digest"],
            )
        wrong = {"uri": skill["uri"].replace("refunds", "evil")}
        held = ask(key, "resources/read", wrong, path=path)
        assert "held back" in held.json()["error"]["message"]
        assert evil[60:] not in held.content.decode()
        assert "error" in ask(key, "skills/get", wrong, path=path).json()
