"""Surfaces that tell a tool's readiness: each returns what it says, by the number of the tool.

Surfaces that offer tools to a model leave out what would not be carried out.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from catalog.access._grant_matrix import MatrixWindow, access_matrix
from catalog.access.integration_readiness import ADMIN_LABELS
from catalog.models import Capability
from marketplace.integrations.listing import IntegrationFilters, list_integrations, rows_of
from tests.factories import UserFactory
from tests.mcp.asking import ask
from tests.web.conftest import new_key

Said = dict[int, str]
NEEDING = {"needs_you", "needs_admin"}
_READINESS = "pegboard/readiness"


@dataclass(frozen=True)
class World:
    """Alice in her browser and by her key, an admin, and tools that alice's group may use."""

    client: Client
    admin: Client
    key: str
    rows: list[Capability]

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        answer = self.client.post(
            f"/api/v1/{path}", json.dumps(body), content_type="application/json"
        )
        assert answer.status_code in {200, 202}, answer.content
        return answer.json()

    def get(self, path: str, **asked: Any) -> Any:
        return self.client.get(f"/api/v1/{path}", asked).json()

    def meta(self, name: str, /, **arguments: Any) -> Any:
        return self.post(f"meta/{name}", {"arguments": arguments})["result"]


def open_world(group: Group, alice: User, rows: list[Capability]) -> World:
    """Sign alice and an admin in, and give alice a key."""
    key = new_key(group, "discover", "execute", owner=alice, acts_for_users=False)
    client, admin = Client(), Client()
    client.force_login(alice)
    admin.force_login(UserFactory.create(username="admin", is_staff=True))
    return World(client, admin, key, rows)


def by_select(world: World) -> Said:
    """Ask for all by their names: what cannot be called is not offered at all."""
    asked = {"message": _all_names(world), "max_tools": 50}
    answer = world.post("select", asked)
    shown = {one["full_name"]: one for one in answer["selected"]}
    if answer["direct"]:
        direct = shown[answer["direct"]]
        assert direct["readiness"] in {"ready", "described_only"}
        assert direct["side_effect"] == "read"
    _check_prompt(answer["prompt"], shown)
    found = {number_of(name): _offered(world, one) for name, one in shown.items()}
    return found


def by_select_without_client(world: World) -> Said:
    """Ask for an application that carries out nothing: only what is ready or asks first is
    available to it, and a failing server is tried."""
    asked = {"message": _all_names(world), "max_tools": 50, "client_executes": False}
    shown = world.post("select", asked)["selected"]
    plan = world.post("plan", {**asked, "selection_mode": "discovered"})["selected"]
    assert {one["full_name"] for one in plan} == {one["full_name"] for one in shown}
    message = {"message": asked["message"], "client_executes": False}
    tier = world.post("discover", {**message, "tier1_top": 20, "tier1_tokens": 4000})["tier1"]
    assert {one["full_name"] for one in tier["capabilities"]} == {one["full_name"] for one in shown}
    found = {number_of(one["full_name"]): _offered(world, one) for one in shown}
    assert set(found.values()) <= {"ready", "asks_first", "failing"}
    body = {"message": "errand", "mode": "compact_direct", "format": "mcp"}
    everything = world.post("select", {**body, "client_executes": False})["prompt"]
    assert {number_of(name) for name in re.findall(r"__do_\d+", everything)} == set(found)
    return found


def by_select_of_everything(world: World) -> Said:
    """Ask for what is not available, too: it comes last, and says why."""
    asked = {"message": _all_names(world), "max_tools": 50, "only_available": False}
    answer = world.post("select", asked)
    shown = answer["selected"]
    is_available = [one["available"] for one in shown]
    assert is_available == sorted(is_available, reverse=True)
    for one in shown:
        follow(world.client, one)
    _check_prompt(answer["prompt"], {one["full_name"]: one for one in shown})
    return {number_of(one["full_name"]): one["readiness"] for one in shown}


def _all_names(world: World) -> str:
    return ", ".join(row.full_name for row in world.rows)


def _offered(world: World, one: Mapping[str, Any]) -> str:
    state: str = one["readiness"]
    assert state not in NEEDING
    assert one["available"] == (state in {"ready", "asks_first", "described_only"})
    if state == "asks_first":
        assert one["access"] == "asks first"
    follow(world.client, one)
    return state


def _check_prompt(prompt: str, shown: Mapping[str, Mapping[str, Any]]) -> None:
    """Check that the text for the model marks what asks first and what is failing, and no more."""
    for name, marks in re.findall(r"^- (\S+__do_\d+)(?: \[([^\]]*)\])?:", prompt, re.MULTILINE):
        one = shown[name]
        assert ("asks first" in marks) == (one["access"] == "asks first"), (name, marks)
        assert ("failing" in marks) == (one["readiness"] == "failing"), (name, marks)


def by_plan(world: World) -> Said:
    asked = {"message": _all_names(world), "max_tools": 50, "selection_mode": "discovered"}
    selected = world.post("plan", asked)["selected"]
    return {number_of(one["full_name"]): _offered(world, one) for one in selected}


def by_prompt_of_everything(world: World) -> Said:
    """Read the lines of a compact prompt: the states that they can tell are marks."""
    body = {"message": "errand", "mode": "compact_direct", "format": "mcp"}
    prompt = world.post("select", body)["prompt"]
    return {
        number_of(name): _state_of_marks(marks)
        for name, marks in re.findall(r"^- (\S+__do_\d+)(?: \[([^\]]*)\])?", prompt, re.MULTILINE)
    }


def _state_of_marks(marks: str) -> str:
    if "failing" in marks:
        return "failing"
    return "asks_first" if "asks first" in marks else "runs"


def by_discover(world: World) -> Said:
    """Read the data and the lines of tier 1."""
    asked = {"message": _all_names(world), "tier1_top": 20, "tier1_tokens": 4000}
    tier = world.post("discover", asked)["tier1"]
    found: Said = {}
    for one in tier["capabilities"]:
        follow(world.client, one)
        found[number_of(one["full_name"])] = one["readiness"]
        [marks] = re.findall(rf"{one['full_name']} \(([^)]*)\)", tier["text"])
        assert _state_of_marks(marks) == brief(one["readiness"], one["access"])
    return found


def brief(state: str, access: str) -> str:
    """Return what marks in a prompt can tell of a state."""
    if state == "failing":
        return "failing"
    return "asks_first" if access == "asks first" else "runs"


def by_lists(world: World) -> Said:
    items = world.get("capabilities", limit=50)["items"]
    return {number_of(one["full_name"]): one["readiness"] for one in items}


def by_batch(world: World) -> Said:
    names = [row.full_name for row in world.rows]
    items = world.post("capabilities/batch", {"names": names})["found"]
    return {number_of(one["full_name"]): one["readiness"] for one in items}


def by_single(world: World) -> Said:
    found: Said = {}
    for number, row in enumerate(world.rows):
        answer = world.client.get(f"/api/v1/capabilities/{row.full_name}")
        if answer.status_code == 200:
            follow(world.client, answer.json())
            found[number] = answer.json()["readiness"]
    return found


def by_search(world: World) -> Said:
    """Ask the meta-tools that search: what needs someone comes last, with a note."""
    query = _all_names(world)
    results = world.meta("search_tools", query=query, limit=25)["tools"]
    found = {number_of(one["name"]): _state_of_row(one) for one in results}
    others = world.meta("tool_discovery__find", query=query, limit=50)["tools"]
    best = world.meta("discover_capabilities", query=query)["capabilities"]
    assert found == {number_of(one["name"]): _state_of_row(one) for one in others}
    works = [state not in {*NEEDING, "failing"} for state in found.values()]
    assert works == sorted(works, reverse=True)
    assert {number_of(one["name"]): _state_of_row(one) for one in best}.items() <= found.items()
    return found


def by_meta_lists(world: World) -> Said:
    """Read the rows of categories and of all tools, and each tool by its name."""
    pages = world.meta("browse_category", category="other")["tools"]
    everything = world.meta("tool_discovery__list_all")["tools"]
    found = {number_of(one["name"]): _state_of_row(one) for one in pages}
    assert found == {number_of(one["name"]): _state_of_row(one) for one in everything}
    return found


def by_get_tool(world: World) -> Said:
    found: Said = {}
    for number, row in enumerate(world.rows):
        if row.available:
            told = [
                world.meta("get_tool", name=row.full_name),
                world.meta("tool_discovery__describe", tool_name=row.full_name),
            ]
            [found[number]] = {one["readiness"] for one in told}
    return found


def _state_of_row(one: Mapping[str, Any]) -> str:
    state = one.get("readiness") or ("asks_first" if one["access"] == "asks first" else "ready")
    assert bool(one.get("note")) == (state in {*NEEDING, "failing"})
    return str(state)


def by_list_servers(world: World) -> Said:
    rows = world.meta("mcp__list_servers", include_disconnected=True)["servers"]
    for one in rows:
        assert (one["status"] == "failing") >= (one["readiness"] == "failing")
    return {int(one["server"].rpartition("-")[2]): one["readiness"] for one in rows}


def by_mcp(world: World) -> Said:
    """Read the list of the whole catalogue, which has only what runs here and is offered."""
    return {
        number_of(one["name"]): one["_meta"][_READINESS]
        for one in _mcp_tools(world, "/mcp")
        if _READINESS in one.get("_meta", {})
    }


def by_mcp_of_integrations(world: World) -> Said:
    found: Said = {}
    for row in world.rows:
        if row.available and runs_at_pegboard(row):
            tools = _mcp_tools(world, f"/mcp/{row.integration.slug}")
            found |= {
                number_of(f"x__{one['name']}"): one["_meta"][_READINESS]
                for one in tools
                if one["name"] != "get_call"
            }
            assert ("get_call" in {one["name"] for one in tools}) >= (
                found[number_of(row.full_name)] == "asks_first"
            )
    return found


def runs_at_pegboard(row: Capability) -> bool:
    """Return True if MCP clients are told of it: elsewhere nobody could carry it out."""
    return row.kind == "skill" or row.integration.transport != ""


def _mcp_tools(world: World, path: str) -> list[dict[str, Any]]:
    answer = ask(world.key, "tools/list", path=path)
    assert answer.status_code == 200, answer.content
    tools: list[dict[str, Any]] = answer.json()["result"]["tools"]
    return tools


def by_explain(world: World) -> Said:
    asked = ({"capability": row.full_name, "user": "alice"} for row in world.rows)
    answers = [world.get("access/explain", **each) for each in asked]
    return {number: answer["readiness"] for number, answer in enumerate(answers)}


def by_explain_page(world: World) -> Said:
    """Read the verdict of Explain as an admin sees it, and as alice sees her own."""
    found: Said = {}
    for number, row in enumerate(world.rows):
        asked = {"user": "alice", "capability": row.full_name}
        pages = [world.admin.get("/access/explain/", asked).text]
        if row.available:
            pages.append(world.client.get(f"/tools/{row.full_name}/why/").text)
        [found[number]] = {_verdict(page) for page in pages}
    return found


def _verdict(page: str) -> str:
    heading = re.search(r'class="verdict .*?<h2>\s*(.*?)\s*</h2>', page, re.DOTALL)
    return _VERDICTS[heading[1] if heading else ""]


_VERDICTS = {
    "Yes, it runs without asking": "ready",
    "Yes, but it asks first": "asks_first",
    "Yes, your application carries it out": "described_only",
    "Yes, but it does not work at the moment": "stopped",
    "No": "stopped",  # its source took it back
}
_LABELS = {
    "Ready": "ready",
    "Asks first": "asks_first",
    "Needs you": "needs_you",
    "Needs an admin": "needs_admin",
    "Failing": "failing",
    "Carried out by your application": "described_only",
}
_BADGES = {label[0].lower() + label[1:]: state for label, state in _LABELS.items()}


def by_my_tools(world: World) -> Said:
    """Read the badges of the page, whole and by each of its filters."""
    found = _badges(world.client.get("/tools/").text)
    for show, states in (("runs", {"ready", "described_only"}), ("asks", {"asks_first"})):
        filtered = _badges(world.client.get("/tools/", {"show": show}).text)
        assert filtered == {number: one for number, one in found.items() if one in states}
    return found


def by_tool_page(world: World) -> Said:
    pages = (world.client.get(f"/tools/{row.full_name}/").text for row in world.rows)
    return {number: _badge(page) for number, page in enumerate(pages)}


def by_playground(world: World) -> Said:
    return _badges(
        world.client.get(
            reverse("playground"), {"message": _all_names(world), "max_tools": "50"}
        ).text
    )


def _badges(page: str) -> Said:
    """Return the badges of the rows of a page."""
    return {
        number_of(name[1]): _badge(part)
        for part in re.split('<li class="(?:chosen-)?row', page)
        if (name := re.search(r'class="full-name"[^>]*>(\S+__do_\d+)<', part))
    }


def _badge(part: str) -> str:
    badges = re.findall(r'<span class="badge[^>]*>(?:<svg.*?</svg>)?\s*([^<]+)</span>', part, re.S)
    [state] = {_BADGES[text.strip()] for text in badges if text.strip() in _BADGES}
    return state


def by_registry(world: World) -> Said:
    servers = world.client.get("/v0.1/servers").json()["servers"]
    found: Said = {}
    for one in servers:
        told = one["_meta"][_READINESS]
        assert told["tools"] == {told["readiness"]: 1}
        follow(world.client, told)
        found[int(one["server"]["name"].rpartition("-")[2])] = told["readiness"]
    return found


def by_matrix(world: World) -> Said:
    """Return what admins see, of people without secrets and accounts of their own."""
    rows = access_matrix(MatrixWindow()).rows
    listed = {
        row.integration.slug: row for row in rows_of(list(list_integrations(IntegrationFilters())))
    }
    pages = [world.admin.get(path).text for path in ("/access/", "/integrations/")]
    matrix, integrations = (_parts(page, "<tr>") for page in pages)
    found: Said = {}
    for row in rows:
        assert row.standing is not None
        slug, state = row.integration.slug, row.standing.readiness.state
        label = str(ADMIN_LABELS[state])
        assert listed[slug].tool_states == label
        assert f'title="{label}"' in integrations[slug]
        assert f"{label[0].lower()}{label[1:]}</span>" in matrix[slug]
        found[int(slug.rpartition("-")[2])] = state.value
    return found


def _parts(page: str, start: str) -> dict[str, str]:
    parts = page.split(start)
    found = ((re.search(r'class="full-name"[^>]*>(server-\d+)<', part), part) for part in parts)
    return {name[1]: part for name, part in found if name}


def follow(client: Client, answer: Mapping[str, Any]) -> None:
    """Check that the link leads to a page that this caller may open, and that its absence is due
    to a state that needs nobody, or only admins."""
    state, path = answer["readiness"], answer.get("mend_path", "")
    assert bool(answer.get("readiness_reason")) == (state != "ready")
    if path:
        assert client.get(path).status_code == 200, (state, path)
    assert (state in NEEDING) <= bool(path)
    assert bool(path) <= (state in {*NEEDING, "failing"})


def number_of(full_name: str) -> int:
    """Return the number at the end of a tool's name."""
    return int(full_name.rpartition("_")[2])


def without(states: Iterable[str], said: Said) -> Said:
    """Return what is said, without tools in these states."""
    return {number: state for number, state in said.items() if state not in set(states)}


# The surfaces, and the tools that each tells of: every one that was given to alice, those that
# their source did not take back, those of connected servers, those that are offered, and so on.
SURFACES: dict[Callable[[World], Said], str] = {
    by_explain: "every",
    by_my_tools: "every",
    by_tool_page: "every",
    by_explain_page: "verdicts",
    by_batch: "usable",
    by_single: "usable",
    by_get_tool: "usable",
    by_registry: "served",
    by_lists: "connected",
    by_meta_lists: "connected",
    by_search: "connected",
    by_select: "offered",
    by_select_without_client: "carried out here",
    by_select_of_everything: "every",
    by_plan: "offered",
    by_discover: "offered",
    by_playground: "offered",
    by_prompt_of_everything: "marks",
    by_list_servers: "servers",
    by_mcp: "listed",
    by_mcp_of_integrations: "served",
    by_matrix: "of nobody",
}
