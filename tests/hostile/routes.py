"""All routes with the door that guards them. A NEW ROUTE NEEDS ONLY A LINE IN `ROUTES`:

    Row("api/v1/spaces/<int:pk>", LOOKUP, fill={"pk": "{space_pk}"}),
    Row("access/", ADMIN_PAGE, "GET POST", body={"group": "{group_pk}", "allow": "on"}),

A row names the route's methods, and the query, body and path parameters that reach something of
mulberry's: "{space_pk}" and the like are names in `World.things`. All tests of this folder then
request the route as everyone who must not get in.
"""

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
SCOPES = {"select", "discover", "execute", "register", "scim", "admin"}

# Expected outcomes of a request beside a status.
SIGN_IN = "is sent to sign in"
TOLD_NOTHING = "is told nothing of mulberry"
NOTHING_PRIVATE = "is told nothing of alice's own"

Outcomes = dict[str, set[int | str]]
_KEYS = ("foreign key", "own key", "revoked key", "expired key")


@dataclass(frozen=True)
class Door:
    """Visitors with their expected outcomes; `insider` is someone who gets in."""

    name: str
    knocking: Outcomes
    insider: str
    query: dict[str, str] = field(default_factory=dict)

    @property
    def is_api(self) -> bool:
        return self.insider.endswith("key")


@dataclass(frozen=True)
class Row:
    """A route. `path` is an address for routes written as regular expressions."""

    route: str
    door: Door
    methods: str = "GET"
    query: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    fill: dict[str, str] = field(default_factory=dict)
    path: str = ""
    takes: frozenset[str] = frozenset()  # other fields of its form
    answers: int = 200  # the insider's status, if it is a refusal


@dataclass(frozen=True)
class Below:
    """All routes with this prefix that have no row of their own."""

    prefix: str
    door: Door
    body: dict[str, Any] = field(default_factory=dict)
    path: str = ""


def _api(scopes: set[str], **more: set[int | str]) -> Outcomes:
    """Build a door that needs a scope: other keys and other people's sessions are refused."""
    narrow: Outcomes = {f"{scope} key": {403} for scope in sorted(SCOPES - scopes)}
    return {
        "anonymous": {401},
        "revoked key": {401},
        "expired key": {401},
        "charlie": {403},
        "bob": {403},
        "foreign key": {403},
        **narrow,
        **more,
    }


def _page(**more: set[int | str]) -> Outcomes:
    """Build a door of a page, which ignores keys."""
    strangers: Outcomes = {who: {SIGN_IN} for who in ("anonymous", *_KEYS)}
    return {**strangers, **more}


OPEN = Door(
    "open to everyone",
    {who: {TOLD_NOTHING} for who in ("anonymous", "charlie", "foreign key", "revoked key")},
    "anonymous",
)
NOWHERE = Door(
    "no route",
    {who: {404} for who in ("anonymous", "charlie", "bob", "clerk", "foreign key")},
    "nobody",
)
MACHINE = Door(
    "the machine, staff and admin keys",
    _api({"admin"}, bob={403}, charlie={403}) | {"foreign key": {TOLD_NOTHING}},
    "root",
)
PAGE = Door(
    "a page about whoever looks at it",
    _page(charlie={TOLD_NOTHING}, bob={NOTHING_PRIVATE}),
    "alice",
)
GROUPS_PAGE = Door("a page about something of one's group", _page(charlie={404}), "alice")
OWN_PAGE = Door("a page about something of one's own", _page(charlie={404}, bob={404}), "alice")
ADMIN_PAGE = Door(
    "a page of admins; others learn nothing of it",
    _page(charlie={404}, bob={404}, alice={404}),
    "root",
)
_TO_DJANGO_ADMIN: Outcomes = {who: {SIGN_IN} for who in ("anonymous", "own key", "alice")}
DJANGO_ADMIN = Door(
    "Django's admin", {**_TO_DJANGO_ADMIN, "clerk": {403, 404, TOLD_NOTHING}}, "root"
)
SELECTION = Door("an answer for a user", _api({"select"}), "own key", {"user": "{user}"})
LOOKUP = Door("a look at what a user has", _api({"discover"}), "own key", {"user": "{user}"})
KEYS = Door(
    "a list for admins and admin keys", _api({"admin"}) | {"foreign key": {TOLD_NOTHING}}, "own key"
)
KEY = Door(
    "one thing, for admins and admin keys", _api({"admin"}) | {"foreign key": {404}}, "own key"
)

INSTALLING = Door(
    "installing, for admins; of keys, for those that belong to one",
    _api({"admin"}, alice={403}) | {who: {403} for who in ("own key", "foreign key", "admin key")},
    "root",
)

TURN = Door(
    "a turn of a user",
    _api({"select"}, bob={404}, charlie={404}) | {"foreign key": {404}},
    "own key",
)
CALL = Door(
    "a call of a user",
    _api({"execute"}, bob={404}, charlie={404}) | {"foreign key": {404}},
    "own key",
)
AN_INSTALLATION = {"pk": "{installation}"}
A_TURN = {"turn_id": "{turn_pk}"}
LOG_OF_CALLS = Door(
    "the log of one's own calls, and for admins and their keys of their groups'",
    _api({"execute", "admin"}) | {who: {TOLD_NOTHING} for who in ("charlie", "bob", "foreign key")},
    "own key",
)
A_CALL = {"pk": "{call_pk}"}
TOOL = {"full_name": "{capability}"}
ITS_PROGRESS = {"public_id": "{installation}"}
A_KEY = "00000000-0000-4000-8000-000000000003"
AN_INTEGRATION = {"slug": "{integration}"}
KEY_PK, SPACE, GROUP, PERSON = (
    {"pk": place} for place in ("{key_pk}", "{space_pk}", "{group_pk}", "{user_pk}")
)
GIVE = "grant|group-{group_pk}|integration-{integration_pk}||"
THE_INTEGRATION = "integration-{integration_pk}"
RIGHTS = Door(
    "why someone may use what", _api({"discover", "admin"}), "discover key", {"user": "{user}"}
)

_NO_KEY: Outcomes = {"anonymous": {401}, "revoked key": {401}, "expired key": {401}}
META = Door(
    "how the meta-tools are described, for everyone who may ask anything",
    _NO_KEY
    | {f"{one} key": {403} for one in ("admin", "select", "register", "scim")}
    | {who: {TOLD_NOTHING} for who in ("charlie", "bob", "foreign key")},
    "own key",
)
MCP = Door(
    "the MCP server: a person, or the owner of a key",
    _NO_KEY
    | {
        "admin key": {403},
        "select key": {403},
        "register key": {403},
        "scim key": {403},
        "foreign key": {400},
        "charlie": {TOLD_NOTHING},
        "bob": {NOTHING_PRIVATE},
    },
    "alice",
)
LIST_EVERYTHING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "tool_discovery__list_all"},
}
LISTINGS = Door(
    "what the marketplace offers, and what of it a user has",
    _api({"discover", "admin"}),
    "own key",
    {"user": "{user}"},
)
CALLING = Door("a call for a user", _api({"execute"}), "own key", {"user": "{user}"})
CHANGE = Door("a change by admin keys", _api({"admin"}), "own key", {"user": "{user}"})
SCIM = Door(
    "people and groups, for keys of admins alone; sessions count for nothing",
    _api({"scim"}, bob={401}, charlie={401}) | {"scim key": {403}},
    "own key",
)
RESET = Door("a change in one's own group by admin keys", _api({"admin"}), "own key")
MAKING = Door(
    "making a capability for one's own group", _api({"register"}), "own key", {"user": "{user}"}
)
REMAKING = Door(
    "changing a capability that one has made",
    _api({"register"}),
    "own key",
    {"user": "{user}"},
)
LOOKING_AT_MADE = Door(
    "a look at a capability that one has made, or as an admin",
    _api({"register", "admin"}),
    "own key",
    {"user": "{user}"},
)
A_MADE_ONE = {"full_name": "{runtime_capability}"}
A_SOURCE = {"slug": "offers"}
A_SERVER = {"name": "pegboard/{server}"}
EDGE = {"target": "{other_capability}", "type": "TAGGED_WITH"}
FOR_ALICE = {"user": "{user}"}
NEW_KEY = {"name": "more", "group": "{group}", "scopes": ["select"], "owner": "{user}"}

ROUTES = [
    Row("healthz", OPEN),
    Row("livez", OPEN),
    Row("readyz", OPEN),
    Row("metrics", MACHINE),
    Row("api/schema/", OPEN),
    Row("api/docs/", OPEN),
    Row("^api/v1/", NOWHERE, path="api/v1/nothing"),
    Row("api/v1/select", SELECTION, "POST", body={**FOR_ALICE, "message": "send an email"}),
    Row("api/v1/meta", META),
    Row("api/v1/meta/<str:name>", LOOKUP, "POST", fill={"name": "get_tool"},
        body={**FOR_ALICE, "arguments": {"name": "{capability}"}}),
    Row("api/v1/execute", CALLING, "POST", body={**FOR_ALICE, "name": "{capability}"}),
    Row("api/v1/calls", LOG_OF_CALLS, query={"user": "{user}"}),
    Row("api/v1/calls/<uuid:pk>", CALL, fill=A_CALL, answers=202),
    Row("api/v1/calls/<uuid:pk>/events", CALL, fill=A_CALL, query={"wait": "0"}),
    Row("api/v1/calls/<uuid:pk>/cancel", CALL, "POST", fill=A_CALL),
    Row("api/v1/approvals", KEYS),
    Row("api/v1/approvals/<uuid:pk>", KEY, fill=A_CALL),
    # Only a person decides, and the keys here have none.
    Row("api/v1/approvals/<uuid:pk>/approve", KEY, "POST", fill=A_CALL,
        body={"digest": "x"}, answers=403),
    Row("api/v1/approvals/<uuid:pk>/reject", KEY, "POST", fill=A_CALL,
        body={"note": "no"}, answers=403),
    Row("api/v1/integrations/<slug:slug>/confirm", INSTALLING, fill=AN_INTEGRATION),
    Row("api/v1/integrations/<slug:slug>/confirm", INSTALLING, "POST", fill=AN_INTEGRATION,
        body={"digest": "0" * 64}, answers=409),
    # The integration there is no program.
    Row("api/v1/integrations/<slug:slug>/network", INSTALLING, fill=AN_INTEGRATION, answers=404),
    Row("api/v1/integrations/<slug:slug>/network", INSTALLING, "PUT", fill=AN_INTEGRATION,
        body={"hosts": ["api.example.com"]}, answers=404),
    Row("api/v1/integrations/<slug:slug>/call-limit", INSTALLING, fill=AN_INTEGRATION),
    Row("api/v1/integrations/<slug:slug>/call-limit", INSTALLING, "PUT", fill=AN_INTEGRATION,
        body={"calls_per_minute": 30}),
    Row("api/v1/integrations/<slug:slug>/tools/<str:full_name>", INSTALLING,
        fill={**AN_INTEGRATION, **TOOL}),
    Row("api/v1/integrations/<slug:slug>/tools/<str:full_name>", INSTALLING, "PATCH",
        fill={**AN_INTEGRATION, **TOOL}, body={"access": "blocked"}),
    Row("api/v1/integrations/<slug:slug>/application-executes", INSTALLING, fill=AN_INTEGRATION),
    Row("api/v1/integrations/<slug:slug>/application-executes", INSTALLING, "PUT",
        fill=AN_INTEGRATION, body={"application_executes": True}),
    Row("api/v1/integrations/<slug:slug>/requestable", INSTALLING, fill=AN_INTEGRATION),
    Row("api/v1/integrations/<slug:slug>/requestable", INSTALLING, "PUT", fill=AN_INTEGRATION,
        body={"requestable": True}),
    Row("api/v1/integrations/<slug:slug>/review", INSTALLING, fill=AN_INTEGRATION),
    Row("api/v1/integrations/<slug:slug>/review/approve", INSTALLING, "POST", fill=AN_INTEGRATION,
        body={"seen": "x"}, answers=409),
    Row("api/v1/integrations/<slug:slug>/review/reject", INSTALLING, "POST", fill=AN_INTEGRATION,
        body={"definitions": {"quince": "0" * 64}}, answers=409),
    Row("api/v1/installations", INSTALLING, "GET POST", body={"listing": "offer"}, answers=202),
    Row("api/v1/installations/preview", INSTALLING, query={"listing": "offer"}),
    Row("api/v1/installations/<uuid:pk>", INSTALLING, "GET PATCH DELETE", fill=AN_INSTALLATION,
        body={"enabled": True}, answers=409),
    Row("api/v1/installations/<uuid:pk>/events", INSTALLING, fill=AN_INSTALLATION),
    Row("api/v1/installations/<uuid:pk>/cancel", INSTALLING, "POST", fill=AN_INSTALLATION,
        answers=409),
    Row("api/v1/installations/<uuid:pk>/retry", INSTALLING, "POST", fill=AN_INSTALLATION),
    Row("api/v1/installations/<uuid:pk>/approve", INSTALLING, "POST", fill=AN_INSTALLATION,
        answers=409),
    Row("api/v1/installations/<uuid:pk>/confirm", INSTALLING, "POST", fill=AN_INSTALLATION,
        body={"confirmed": "x"}, answers=409),
    Row("api/v1/installations/<uuid:pk>/update", INSTALLING, fill=AN_INSTALLATION, answers=404),
    Row("api/v1/installations/<uuid:pk>/update", INSTALLING, "POST", fill=AN_INSTALLATION,
        answers=409),
    Row("api/v1/installations/<uuid:pk>/repair", INSTALLING, "POST", fill=AN_INSTALLATION,
        answers=409),
    Row("api/v1/installations/<uuid:pk>/roll-back", INSTALLING, "POST", fill=AN_INSTALLATION,
        answers=409),
    Row("api/v1/plan", SELECTION, "POST", body={**FOR_ALICE, "message": "send an email"}),
    Row("api/v1/turns/<uuid:turn_id>", TURN, fill=A_TURN),
    Row("api/v1/turns/<uuid:turn_id>/start", TURN, "POST", fill=A_TURN),
    Row("api/v1/turns/<uuid:turn_id>/results", TURN, "POST", fill=A_TURN,
        body={"results": [{"name": "gmail__send_email", "result": "sent"}]}, answers=409),
    Row("api/v1/turns/<uuid:turn_id>/outcome", TURN, "POST", fill=A_TURN,
        body={"status": "success", "called": ["{capability}"]}),
    Row("api/v1/outcomes/windows", KEYS),
    Row("api/v1/outcomes/alerts", KEYS),
    Row("api/v1/figures", KEYS),
    Row("api/v1/figures/tools", KEYS),
    Row("api/v1/figures/use", KEYS),
    Row("api/v1/risks", INSTALLING),
    Row("api/v1/discover", LOOKUP, "POST", body={**FOR_ALICE, "message": "send an email"}),
    Row("api/v1/capabilities", LOOKUP),
    Row("api/v1/capabilities/batch", LOOKUP, "POST", body={**FOR_ALICE, "names": ["{capability}"]}),
    Row("api/v1/capabilities/<str:full_name>", LOOKUP, fill=TOOL),
    Row("api/v1/capabilities", MAKING, "POST",
        body={**FOR_ALICE, "kind": "skill", "name": "jam", "description": "Mulberry jam."},
        ),
    Row("api/v1/capabilities/<str:full_name>", REMAKING, "PUT DELETE", fill=A_MADE_ONE,
        body={**FOR_ALICE, "description": "Mulberry pie."}),
    Row("api/v1/runtime-capabilities", MAKING),
    Row("api/v1/runtime-capabilities/<str:full_name>", LOOKING_AT_MADE, fill=A_MADE_ONE),
    Row("api/v1/runtime-capabilities/<str:full_name>", INSTALLING, "POST", fill=A_MADE_ONE,
        body={"state": "retired"}),
    Row("api/v1/categories", LOOKUP),
    Row("api/v1/tree", LOOKUP),
    Row("api/v1/names", LOOKUP),
    Row("api/v1/stats", LOOKUP),
    Row("api/v1/graph/<str:full_name>", LOOKUP, fill=TOOL),
    Row(
        "api/v1/graph/<str:full_name>",
        CHANGE,
        "POST DELETE",
        query=EDGE,
        body={**FOR_ALICE, **EDGE},
        fill=TOOL,
    ),
    Row("api/v1/access/explain", RIGHTS, query={"capability": "{capability}"}),
    Row("api/v1/access/reach", RIGHTS),
    Row("api/v1/access/holders", KEY, query={"capability": "{capability}"}),
    Row(
        "api/v1/access/rules",
        KEYS,
        "GET POST",
        query={"space": "{space}"},
        body={"group": "{group}", "effect": "deny", "integration": "{integration}"},
    ),
    Row("api/v1/access/rules/<int:pk>", KEY, "DELETE", fill={"pk": "{rule_pk}"}),
    Row("api/v1/access/kept-rules", KEYS),
    Row("api/v1/access/kept-rules/<int:pk>", KEY, "DELETE", fill={"pk": "{kept_pk}"}),
    Row("api/v1/listings", LISTINGS, query={"query": "offer"}),
    Row("api/v1/listings/<slug:slug>", LISTINGS, fill={"slug": "offer"}),
    *(
        Row(f"api/v1/listings/<slug:slug>/{decision}", INSTALLING, "POST", fill={"slug": "offer"},
            body={"seen": "0" * 64}, answers=409)
        for decision in ("approve", "hide")
    ),
    Row("api/v1/learning", LOOKUP),
    Row("api/v1/learning", RESET, "DELETE", query={"group": "{group}"}),
    Row("api/v1/keys", KEYS, "GET POST", body=NEW_KEY),
    Row("api/v1/allowed-hosts", INSTALLING, "GET POST DELETE", body={"host": "localhost:8205"},
        query={"host": "localhost:8205"}),
    Row("api/v1/own-servers", INSTALLING, "GET PUT", body={"allowed": False}),
    Row("api/v1/additions", INSTALLING, "POST", body={"what": "npx @quince/maps@1.0.0"}),
    Row("api/v1/additions/<uuid:pk>", INSTALLING, fill={"pk": "{addition}"}),
    Row("api/v1/sources", INSTALLING, "GET POST",
        body={"kind": "mcp_json", "location": "https://example.com/mcp.json"}),
    Row("api/v1/sources/<slug:slug>", INSTALLING, "GET PATCH DELETE", fill=A_SOURCE,
        body={"enabled": False}),
    Row("api/v1/sources/<slug:slug>/refresh", INSTALLING, "POST", fill=A_SOURCE),
    Row("api/v1/keys/<int:pk>", KEY, "DELETE", fill=KEY_PK),
    Row("api/v1/keys/<int:pk>/rotate", KEY, "POST", fill=KEY_PK),
    Row("api/v1/groups", INSTALLING, "GET POST", body={"name": "Plums"}),
    Row("api/v1/groups/<int:pk>", INSTALLING, "GET PATCH DELETE", body={"open": True}, fill=GROUP),
    Row("api/v1/groups/<int:pk>/deletion", INSTALLING, fill=GROUP),
    Row("api/v1/groups/<int:pk>/merge", INSTALLING, "GET POST", fill=GROUP,
        query={"into": "{group}"}, body={"into": "{group}"}, answers=422),  # with itself
    Row("api/v1/groups/<int:pk>/members", INSTALLING, "GET POST", body={"users": ["{user}"]},
        fill=GROUP),
    Row("api/v1/groups/<int:pk>/members/<str:user>", INSTALLING, "DELETE",
        fill={**GROUP, "user": "{user}"}),
    Row("api/v1/applications", INSTALLING, "GET POST", body={"name": "Plum"}),
    Row("api/v1/applications/<int:pk>", INSTALLING, "GET PUT DELETE", body={"name": "Plum"},
        fill={"pk": "1"}, answers=404),
    Row("api/v1/applications/<int:pk>/keys", INSTALLING, "GET POST", body={"key": 1},
        fill={"pk": "1"}, answers=404),
    Row("api/v1/applications/<int:pk>/keys/<int:key>", INSTALLING, "DELETE",
        fill={"pk": "1", "key": "1"}, answers=404),
    Row("api/v1/applications/<int:pk>/conversations", INSTALLING, fill={"pk": "1"}, answers=404),
    Row("api/v1/quotas", INSTALLING, "GET POST", body={"measure": "calls", "hard": 5,
        "user": "{user}"}),
    Row("api/v1/quotas/<int:pk>", INSTALLING, "DELETE", fill={"pk": "1"}, answers=404),
    Row("api/v1/prices", INSTALLING, "GET POST", body={"model": "plum-1*", "input": "1",
        "output": "2"}),
    Row("api/v1/prices/<int:pk>", INSTALLING, "DELETE", fill={"pk": "1"}, answers=404),
    Row("api/v1/chat-models", INSTALLING, "GET POST", body={"name": "Plum",
        "provider": "compatible", "model": "plum-1", "address": "https://plums.example",
        "groups": ["{group}"]}),
    Row("api/v1/chat-models/<int:pk>", INSTALLING, "DELETE", fill={"pk": "1"}, answers=404),
    Row("api/v1/advice", INSTALLING, "GET POST", body={"model": "Plum", "group": "{group}"},
        answers=400),
    Row("api/v1/integrations/<slug:slug>/example-requests", INSTALLING, "GET POST",
        body={"model": "Plum"}, fill=AN_INTEGRATION, answers=400),
    Row("api/v1/integrations/<slug:slug>/example-requests", INSTALLING, "PUT", answers=400,
        body={"tool": "plums__none", "texts": ["Where are the plums?"]}, fill=AN_INTEGRATION),
    Row("api/v1/groups/<int:pk>/call-policy", INSTALLING, "GET PUT",
        body={"content": "kept", "days": 7}, fill=GROUP),
    Row("api/v1/groups/<int:pk>/spaces", INSTALLING, "GET POST", body={"name": "Plums"},
        fill=GROUP),
    Row("api/v1/spaces", INSTALLING, "GET", query={"group": "{group}"}),
    Row("api/v1/spaces", INSTALLING, "POST", body={"name": "Plums", "group": "{group}"}),
    Row("api/v1/spaces/<int:pk>", INSTALLING, "PATCH DELETE", body={"name": "Plums"}, fill=SPACE),
    Row("api/v1/grants", INSTALLING, "GET", query={"group": "{group}"}),
    Row("api/v1/grants", INSTALLING, "POST",
        body={"group": "{group}", "integration": "{integration}"}),
    Row("api/v1/grants", INSTALLING, "DELETE",
        query={"group": "{group}", "integration": "{integration}"}),
    Row("api/v1/access/grants", INSTALLING, "GET", query={"group": "{group}"}),
    Row("api/v1/access/grants", INSTALLING, "POST",
        body={"group": "{group}", "integration": "{integration}"}),
    Row("api/v1/access/grants", INSTALLING, "DELETE",
        query={"group": "{group}", "integration": "{integration}"}),
    Row("api/v1/people", INSTALLING),
    Row("api/v1/people/<str:user>", INSTALLING, "GET PATCH DELETE", body={"active": False},
        fill={"user": "{user}"}),
    Row("api/v1/invitations", INSTALLING, "POST", body={"email": "a@b.example"}),
    Row("scim/v2/", SCIM, "GET POST PUT PATCH DELETE", answers=403),
    Row("scim/v2/<path:path>", SCIM, "GET POST PUT PATCH DELETE",
        fill={"path": "Users/{user_pk}"}, answers=403),
    Row("v0.1/servers", LOOKUP),
    Row("v0.1/servers/<path:name>/versions", LOOKUP, fill=A_SERVER),
    Row("v0.1/servers/<path:name>/versions/<str:version>", LOOKUP,
        fill={**A_SERVER, "version": "latest"}),
    Row("v0.1/servers/<path:name>/versions/<str:version>/status", INSTALLING, "PATCH",
        fill={**A_SERVER, "version": "latest"}, body={"status": "deprecated"}),
    Row("mcp", MCP, "POST", body=LIST_EVERYTHING),
    Row("mcp/space/<slug:space>", MCP, "POST", body=LIST_EVERYTHING, fill={"space": "{space}"}),
    Row("mcp/<slug:integration>", MCP, "POST", body=LIST_EVERYTHING,
        fill={"integration": "{integration}"}),
    Row(".well-known/oauth-authorization-server", OPEN),
    Row(".well-known/oauth-protected-resource", OPEN),
    Row(".well-known/oauth-protected-resource/<path:path>", OPEN, fill={"path": "mcp"}),
    Row("oauth/register", OPEN, "POST", body={"redirect_uris": "none"}, answers=400),
    Row("oauth/token", OPEN, "POST", body={"grant_type": "refresh_token"}, answers=400),
    Row("oauth/revoke", OPEN, "POST", body={"token": "none"}, answers=400),
    Row("oauth/authorize", PAGE, "GET POST", query={"client_id": "none"},
        body={"decision": "allow"}, answers=400),
    Row("account/assistants/", PAGE),
    Row("account/assistants/", PAGE, "POST", body={"connection": "0"}, answers=404),
    Row("", PAGE, "GET POST", query={"message": "send an email"},
        body={"message": "send an email"}),
    Row("first-steps/", PAGE, "GET POST", body={"hidden": "on"}),
    Row("playground/people/", PAGE, query={"user": "a"}),
    Row("tools/", PAGE),
    Row("design/", PAGE, answers=404),  # only in debug mode
    Row("tools/connect/", PAGE),
    Row("tools/requests/", PAGE, "GET POST", body={"wish": "A calendar"}),
    Row("tools/runtime/", PAGE),
    Row("tools/own-servers/", PAGE, "GET POST", answers=404),
    Row("tools/own-servers/<slug:slug>/remove/", PAGE, "POST", fill=AN_INTEGRATION, answers=404),
    Row("tools/runtime/<slug:full_name>/<slug:decision>/", ADMIN_PAGE, "GET POST",
        fill={**A_MADE_ONE, "decision": "approve"}, body={"seen": "x"}, answers=409),
    Row("tools/connections/", PAGE),
    Row("tools/connections/<slug:slug>/", GROUPS_PAGE, fill=AN_INTEGRATION),
    Row("tools/connections/<slug:slug>/", GROUPS_PAGE, "POST", fill=AN_INTEGRATION,
        body={"name": "TOKEN"}, answers=422),
    Row("tools/connections/<slug:slug>/sign-in/", GROUPS_PAGE, "POST", fill=AN_INTEGRATION),
    Row("tools/connections/<slug:slug>/sign-out/", GROUPS_PAGE, "POST", fill=AN_INTEGRATION),
    # Only the browser that began the sign-in may return; others get 404.
    Row("connections/callback/", OWN_PAGE, query={"state": "x", "code": "x"}, answers=404),
    Row("connections/<uuid:public_id>/", OWN_PAGE, fill={"public_id": "{sign_in}"}),
    Row("tools/<slug:full_name>/", GROUPS_PAGE, fill=TOOL),
    Row("tools/<slug:full_name>/try/", GROUPS_PAGE, fill=TOOL),
    Row("tools/<slug:full_name>/try/", GROUPS_PAGE, "POST", fill=TOOL,
        body={"arguments": "no json"}, answers=422),
    Row("tools/<slug:full_name>/examples/<int:pk>/delete/", ADMIN_PAGE, "POST", answers=404,
        fill={**TOOL, "pk": "1"}),
    Row("tools/<slug:full_name>/why/", GROUPS_PAGE, fill=TOOL),
    Row("find/", PAGE, query={"q": "e"}),
    Row("icons/<uuid:public_id>.png", GROUPS_PAGE, fill={"public_id": "{icon}"}),
    Row("marketplace/", PAGE, query={"q": "offer"}),
    Row("marketplace/listings/<slug:slug>/", PAGE, fill={"slug": "offer"}),
    Row("marketplace/listings/<slug:slug>/review/", ADMIN_PAGE, "POST", fill={"slug": "offer"},
        body={"decision": "approve", "seen": "0"}),
    Row("marketplace/listings/<slug:slug>/install/", ADMIN_PAGE, "GET POST",
        fill={"slug": "another-offer"}, body={"key": A_KEY, "groups": "{group_pk}"}),
    Row("marketplace/listings/<slug:slug>/operations/", ADMIN_PAGE,
        fill={"slug": "mulberry-api"}),
    Row("marketplace/add/", PAGE, "GET POST", body={"what": "npx @quince/maps@1.0.0"}),
    Row("marketplace/add/together/", ADMIN_PAGE, "GET POST", query={"of": "{addition}"},
        body={"of": "{addition}", "key": "0b1f51a8-5a1c-4d7e-9a53-1f7f4d5a3b21"}, answers=422),
    Row("marketplace/add/<uuid:public_id>/", ADMIN_PAGE, fill={"public_id": "{addition}"}),
    Row("marketplace/sources/", ADMIN_PAGE),
    Row("marketplace/add-source/", ADMIN_PAGE),
    Row("marketplace/add-source/", ADMIN_PAGE, "POST",
        body={"kind": "mcp_json", "location": "/etc/mcp.json", "schedule_hours": "0"}, answers=422),
    Row("marketplace/sources/<slug:slug>/", ADMIN_PAGE, "GET POST", fill=A_SOURCE,
        body={"schedule_hours": "1"}),
    Row("marketplace/sources/<slug:slug>/refresh/", ADMIN_PAGE, "POST", fill=A_SOURCE),
    Row("marketplace/sources/<slug:slug>/remove/", ADMIN_PAGE, "GET POST", fill=A_SOURCE),
    Row("marketplace/proposals/", ADMIN_PAGE),
    Row("marketplace/proposals/<int:pk>/", ADMIN_PAGE, "POST", fill={"pk": "{proposal_pk}"},
        body={"decision": "decline", "note": "Not now."}),
    Row("marketplace/receivers/", ADMIN_PAGE, query={"group_q": "{group}"}),
    Row("marketplace/installations/<uuid:public_id>/", ADMIN_PAGE, fill=ITS_PROGRESS),
    Row("marketplace/installations/<uuid:public_id>/confirm/", ADMIN_PAGE, "POST",
        fill=ITS_PROGRESS),
    Row("marketplace/installations/<uuid:public_id>/approve/", ADMIN_PAGE, "POST",
        fill=ITS_PROGRESS),
    Row("marketplace/installations/<uuid:public_id>/retry/", ADMIN_PAGE, "POST",
        fill=ITS_PROGRESS),
    Row("marketplace/installations/<uuid:public_id>/cancel/", ADMIN_PAGE, "GET POST",
        fill=ITS_PROGRESS),
    Row("insights/", PAGE),
    Row("insights/tools/", PAGE),
    Row("insights/outcomes/", ADMIN_PAGE),
    Row("insights/use/", PAGE),
    Row("applications/", ADMIN_PAGE),
    Row("applications/new/", ADMIN_PAGE, "GET POST", body={"name": "Plum", "reach": "all"}),
    Row("applications/<int:pk>/", ADMIN_PAGE, fill={"pk": "1"}, answers=404),
    Row("applications/<int:pk>/edit/", ADMIN_PAGE, "GET POST", fill={"pk": "1"}, answers=404,
        body={"name": "Plum", "reach": "all"}),
    Row("applications/<int:pk>/delete/", ADMIN_PAGE, "GET POST", fill={"pk": "1"}, answers=404),
    Row("applications/<int:pk>/conversation/", ADMIN_PAGE, fill={"pk": "1"}, answers=404,
        query={"name": "plum"}),
    Row("applications/<int:pk>/keys/", ADMIN_PAGE, "POST", fill={"pk": "1"}, answers=404),
    Row("applications/<int:pk>/keys/<int:key>/release/", ADMIN_PAGE, "POST",
        fill={"pk": "1", "key": "1"}, answers=404),
    Row("insights/quotas/", ADMIN_PAGE, "GET POST",
        body={"whose": "each", "measure": "calls", "hard": "5"},
        takes=frozenset({"user", "group", "tool", "soft"})),
    Row("insights/quotas/<int:pk>/delete/", ADMIN_PAGE, "POST", fill={"pk": "1"}, answers=404),
    Row("insights/prices/", ADMIN_PAGE, "GET POST",
        body={"model": "plum-1*", "input_price": "1", "output_price": "2"},
        takes=frozenset({"noted_on", "source"})),
    Row("insights/prices/<int:pk>/delete/", ADMIN_PAGE, "POST", fill={"pk": "1"}, answers=404),
    Row("playground/chat/", PAGE, "GET POST", body={"message": "plums", "model": "{chat_model_pk}"},
        takes=frozenset({"compare"})),
    Row("playground/chat/<uuid:pk>/", OWN_PAGE, "GET POST", body={"message": "plums"},
        fill={"pk": "{chat_pk}"}, takes=frozenset({"compare"})),
    Row("playground/chat/<uuid:pk>/go-on/", OWN_PAGE, "POST", fill={"pk": "{chat_pk}"}),
    Row("playground/chat/<uuid:pk>/cancel/", OWN_PAGE, "POST", fill={"pk": "{chat_pk}"}),
    Row("playground/chat/<uuid:pk>/delete/", OWN_PAGE, "POST", fill={"pk": "{chat_pk}"}),
    Row("playground/chat/<uuid:pk>/apps/<uuid:call_pk>/", OWN_PAGE, answers=404,
        fill={"pk": "{chat_pk}", "call_pk": "00000000-0000-4000-8000-000000000009"}),
    Row("playground/chat/<uuid:pk>/apps/<uuid:call_pk>/call/", OWN_PAGE, "GET POST", answers=404,
        fill={"pk": "{chat_pk}", "call_pk": "00000000-0000-4000-8000-000000000009"}),
    Row("playground/models/", ADMIN_PAGE, "GET POST",
        body={"name": "Plum", "provider": "compatible", "model_id": "plum-1",
              "address": "https://plums.example", "daily_tokens": "1000"},
        takes=frozenset({"key", "groups"})),
    Row("playground/models/<int:pk>/delete/", ADMIN_PAGE, "POST", fill={"pk": "1"}, answers=404),
    Row("playground/models/advice/<int:pk>/remove/", ADMIN_PAGE, "POST", fill={"pk": "1"},
        answers=404),
    Row("help/", PAGE),
    Row("help/<slug:name>/", PAGE, fill={"name": "today"}),
    Row("insights/teach/", ADMIN_PAGE, "GET POST",
        body={"do": "import", "lines": "Book a table in the mulberry room"},
        takes=frozenset({"number", "file", "message"})),
    Row("integrations/<slug:slug>/examples/", ADMIN_PAGE, "GET POST", fill=AN_INTEGRATION,
        body={"do": "save"}, takes=frozenset({"model", "discard"})),
    Row("insights/csv/<slug:name>/", PAGE, fill={"name": "called"}),
    Row("insights/csv/<slug:name>/", ADMIN_PAGE, fill={"name": "groups"}),
    Row("account/notifications/", PAGE, "GET POST", body={"kind": "mail", "topics": "answers"},
        answers=422),  # alice has no address
    Row("account/notifications/<int:pk>/", OWN_PAGE, "GET POST", fill={"pk": "{channel_pk}"},
        body={"action": "pause"}),
    Row("access/notifications/", ADMIN_PAGE, "GET POST", body={"kind": "mail",
        "topics": "alerts", "group": "{group_pk}", "mail_to": "quince@example.com"}),
    Row("access/notifications/<int:pk>/", ADMIN_PAGE, "GET POST",
        fill={"pk": "{group_channel_pk}"}, body={"action": "pause"}),
    Row("today/", PAGE),
    Row("today/calls/", PAGE, "POST", body={"verdict": "cancel", "call": "{call_pk}:"}),
    Row("today/requests/", ADMIN_PAGE, "POST", body={"note": "No", "request": "{request_pk}"}),
    Row("today/integrations/", ADMIN_PAGE, "POST", body={"integration": "{integration}"}),
    Row("today/reviews/", ADMIN_PAGE, "POST", body={"verdict": "reject", "definition": "1:x"},
        answers=422),
    Row("today/updates/", ADMIN_PAGE, "POST", body={"update": "{integration}:x"}, answers=422),
    Row("today/alerts/", ADMIN_PAGE, "POST", body={"alert": "1"}, takes=frozenset({"verdict"})),
    Row("today/keys/", ADMIN_PAGE, "POST", body={"overlap": "1440", "key": "{key_pk}"},
        takes=frozenset({"lifetime"}), answers=422),
    Row("calls/", PAGE),
    Row("calls/export.csv", PAGE),
    Row("calls/policy/", ADMIN_PAGE),
    Row("calls/policy/<int:pk>/", ADMIN_PAGE, "POST", fill=GROUP, body={"content": "0"},
        takes=frozenset({"days"})),
    Row("calls/<uuid:pk>/", OWN_PAGE, fill=A_CALL),
    Row("approvals/", PAGE),
    Row("approvals/<uuid:pk>/", OWN_PAGE, "GET POST", fill=A_CALL, body={"cancel": "1"}),
    Row("access/", ADMIN_PAGE),
    Row("access/risk/", ADMIN_PAGE),
    Row("access/risk/csv/<slug:name>/", ADMIN_PAGE, fill={"name": "groups"}),
    Row("access/kept/<int:pk>/lift/", ADMIN_PAGE, "POST", fill={"pk": "{kept_pk}"}),
    Row("access/changes/", ADMIN_PAGE, "POST", body={"changes": GIVE}),
    Row("access/changes/save/", ADMIN_PAGE, "POST", body={"changes": GIVE}, answers=409),
    Row("access/changes/undo/", ADMIN_PAGE, answers=422),
    Row("access/groups/", ADMIN_PAGE),
    Row("access/groups/new/", ADMIN_PAGE, "GET POST", body={"name": "Plums", "default": "listed"}),
    Row("access/groups/<int:pk>/rename/", ADMIN_PAGE, "POST", fill=GROUP, body={"name": "Plums"}),
    Row("access/groups/<int:pk>/joined/", ADMIN_PAGE, "POST", fill=GROUP, body={"joined": "on"}),
    Row("access/groups/<int:pk>/delete/", ADMIN_PAGE, "GET POST", fill=GROUP,
        body={"name": "{group}"}),
    Row("access/groups/<int:pk>/merge/", ADMIN_PAGE, "GET POST", fill=GROUP,
        body={"into": "{group}", "name": "{group}"}, answers=422),  # with itself
    Row("access/groups/<int:pk>/people/", ADMIN_PAGE, "GET POST", fill=GROUP,
        body={"people": "{user}"}, takes=frozenset({"step", "invite", "file"})),
    Row("access/groups/<int:pk>/", ADMIN_PAGE, "GET POST", fill=GROUP,
        body={"name": "More", "parent": "{root_space_pk}"}),
    Row("access/groups/<int:pk>/give/", ADMIN_PAGE, "GET POST", fill=GROUP,
        body={"target": THE_INTEGRATION}),
    Row("access/spaces/<int:pk>/", ADMIN_PAGE, "GET POST", fill=SPACE,
        body={"target": THE_INTEGRATION, "effect": "2", "whom": "everyone"}),
    Row("access/spaces/<int:pk>/warnings/", ADMIN_PAGE, fill=SPACE),
    Row("access/spaces/<int:pk>/rename/", ADMIN_PAGE, "POST", fill=SPACE, body={"name": "Other"}),
    Row("access/spaces/<int:pk>/move/", ADMIN_PAGE, "GET POST", fill=SPACE,
        query={"parent": "{root_space_pk}"}, body={"parent": "{root_space_pk}"}),
    Row("access/spaces/<int:pk>/delete/", ADMIN_PAGE, "GET POST", fill=SPACE),
    Row("access/explain/", ADMIN_PAGE, query={**FOR_ALICE, "capability": "{capability}"}),
    Row("access/people/<int:pk>/", ADMIN_PAGE, fill=PERSON),
    Row("access/tools/<slug:full_name>/", ADMIN_PAGE, fill=TOOL),
    Row("access/requests/", ADMIN_PAGE),
    Row("access/requests/<int:pk>/", ADMIN_PAGE, "GET POST", fill={"pk": "{request_pk}"},
        body={"target": THE_INTEGRATION, "whom": "user"}),
    Row("access/find/targets/", ADMIN_PAGE, query={"target_q": "mail"}),
    Row("access/find/capabilities/", ADMIN_PAGE, query={"capability": "mail"}),
    Row("allowed-hosts/", ADMIN_PAGE, "GET POST", body={"host": "localhost:8205"}),
    Row("own-servers/", ADMIN_PAGE, "GET POST"),
    Row("integrations/", ADMIN_PAGE),
    Row("integrations/<slug:slug>/", ADMIN_PAGE, fill=AN_INTEGRATION),
    Row("integrations/<slug:slug>/check/", ADMIN_PAGE, "POST", fill=AN_INTEGRATION),
    Row("integrations/<slug:slug>/confirm/", ADMIN_PAGE, "GET POST", fill=AN_INTEGRATION,
        answers=422),
    Row("integrations/<slug:slug>/call-limit/", ADMIN_PAGE, "POST", fill=AN_INTEGRATION,
        body={"calls_per_minute": "30"}),
    Row("integrations/<slug:slug>/application-executes/", ADMIN_PAGE, "POST", fill=AN_INTEGRATION,
        body={"application_executes": "on"}),
    Row("integrations/<slug:slug>/tools/<slug:full_name>/", ADMIN_PAGE, "POST",
        fill={**AN_INTEGRATION, **TOOL}, body={"ai_access": "blocked", "side_effect": "read",
                                            "title": "Search", "description": "Searches."}),
    Row("integrations/<slug:slug>/requestable/", ADMIN_PAGE, "POST", fill=AN_INTEGRATION,
        body={"requestable": "on"}),
    Row("integrations/<slug:slug>/network/", ADMIN_PAGE, "POST", fill=AN_INTEGRATION,
        body={"hosts": "api.example.com"}, answers=404),
    Row("integrations/<slug:slug>/review/", ADMIN_PAGE, fill=AN_INTEGRATION),
    Row("integrations/<slug:slug>/review/decide/", ADMIN_PAGE, "POST", fill=AN_INTEGRATION,
        body={"decision": "approve-all", "seen": "x"}, answers=409),
    Row("integrations/<slug:slug>/switch/", ADMIN_PAGE, "POST", fill=AN_INTEGRATION,
        body={"enabled": "on"}),
    Row("integrations/<slug:slug>/retry/", ADMIN_PAGE, "POST", fill=AN_INTEGRATION),
    Row("integrations/<slug:slug>/update/", ADMIN_PAGE, fill=AN_INTEGRATION),
    Row("integrations/<slug:slug>/update/", ADMIN_PAGE, "POST", fill=AN_INTEGRATION, answers=422),
    Row("integrations/<slug:slug>/roll-back/", ADMIN_PAGE, "POST", fill=AN_INTEGRATION),
    Row("integrations/<slug:slug>/repair/", ADMIN_PAGE, "GET POST", fill=AN_INTEGRATION),
    Row("integrations/<slug:slug>/uninstall/", ADMIN_PAGE, "GET POST", fill=AN_INTEGRATION,
        body={"name": "{integration}"}),
    Row("integrations/<slug:slug>/secrets/", ADMIN_PAGE, "POST", fill=AN_INTEGRATION,
        body={"name": "TOKEN", "forget": "on"}),
    Row("integrations/<slug:slug>/sign-in/", ADMIN_PAGE, "POST", fill=AN_INTEGRATION),
    Row("integrations/<slug:slug>/sign-out/", ADMIN_PAGE, "POST", fill=AN_INTEGRATION),
    Row("integrations/<slug:slug>/client/", ADMIN_PAGE, "POST", fill=AN_INTEGRATION,
        body={"client_id": "x"}),
    Row("integrations/<slug:slug>/own-secrets/", ADMIN_PAGE, "POST", fill=AN_INTEGRATION,
        body={"own": "on"}),
    Row("people/", ADMIN_PAGE),
    Row("people/invite/", ADMIN_PAGE, "GET POST", body={"email": "a@b.example", "role": "member"}),
    Row("people/invitations/<int:pk>/withdraw/", ADMIN_PAGE, "POST",
        fill={"pk": "{invitation_pk}"}),
    Row("people/sign-in-groups/", ADMIN_PAGE, "GET POST",
        body={"value": "staff", "group": "{group_pk}"}),
    Row("people/sign-in-groups/<int:pk>/remove/", ADMIN_PAGE, "POST",
        fill={"pk": "{sign_in_group_pk}"}),
    Row("people/<int:pk>/", ADMIN_PAGE, fill=PERSON),
    Row("people/<int:pk>/groups/", ADMIN_PAGE, "POST", fill=PERSON, body={"group": "{group_pk}"}),
    Row("people/<int:pk>/groups/<int:group_pk>/leave/", ADMIN_PAGE, "POST",
        fill={**PERSON, "group_pk": "{group_pk}"}),
    Row("people/<int:pk>/deactivate/", ADMIN_PAGE, "GET POST", fill=PERSON),
    Row("people/<int:pk>/reactivate/", ADMIN_PAGE, "POST", fill=PERSON),
    Row("people/<int:pk>/codes/off/", ADMIN_PAGE, "POST", fill=PERSON),
    Row("keys/", ADMIN_PAGE),
    Row("keys/new/", ADMIN_PAGE, "GET POST",
        body={"name": "more", "groups": "{group_pk}", "scopes": "select", "whom": "users"}),
    Row("keys/<int:pk>/replace/", ADMIN_PAGE, "GET POST", fill=KEY_PK, body={"overlap": "60"}),
    Row("keys/<int:pk>/revoke/", ADMIN_PAGE, "GET POST", fill=KEY_PK),
    Row("health/", ADMIN_PAGE),
    Row("audit/", ADMIN_PAGE),
    Row("audit/check/", ADMIN_PAGE, "POST"),
    Row("audit/export.csv", ADMIN_PAGE),
    Row("audit/export.jsonl", ADMIN_PAGE),
    Row("sign-in/", OPEN, "GET POST", body={"login": "{user}", "password": "wrong"}),
    Row("sign-in/code/", OPEN, "GET POST", body={"code": "123456"}),
    Row("sign-in/forgotten/", OPEN, "GET POST", body={"email": "a@b.example"}),
    Row("sign-in/forgotten/sent/", OPEN),
    Row("^sign-in/forgotten/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$", OPEN, "GET POST",
        path="sign-in/forgotten/1-no-such-key/", body={"password1": "x", "password2": "x"}),
    Row("sign-in/forgotten/done/", OPEN),
    Row("sign-in/oidc/", OPEN, "POST"),
    Row("^sign-in/(?P<provider_id>oidc)/callback/$", OPEN, path="sign-in/oidc/callback/"),
    Row("sign-in/oidc/cancelled/", OPEN),
    Row("sign-out/", OPEN, "POST"),
    Row("invitation/<str:raw>/", OPEN, "GET POST", fill={"raw": "{invitation}"}),
    Row("account/", PAGE),
    Row("account/language/", PAGE, "POST", body={"language": "en"}),
    Row("account/confirm/", PAGE, "GET POST"),
    Row("account/confirm/code/", PAGE, "GET POST"),
    Row("account/email/", PAGE, "GET POST", body={"action_add": "", "email": "a@b.example"}),
    Row(r"^account/email/(?P<key>[-:\w]+)/$", OPEN, "GET POST", path="account/email/no-such/"),
    Row("account/password/", PAGE, "GET POST", answers=422),  # the password is missing
    Row("account/password/first/", PAGE, "GET POST"),
    Row("account/codes/", PAGE, "GET POST"),
    Row("account/codes/off/", PAGE, "GET POST", answers=404),  # alice has no codes
    Row("account/codes/lost/", PAGE, answers=404),
    Row("account/codes/lost/new/", PAGE, "GET POST"),
    Row("account/connections/", PAGE, "GET POST"),
    Row("group/", GROUPS_PAGE, "POST", body={"group": "{group_pk}"}),
    Row("admin/login/", OPEN, "GET POST", body={"username": "{user}", "password": "wrong"}),
    Row("admin/logout/", OPEN, "POST"),
    Row("admin/r/<path:content_type_id>/<path:object_id>/", DJANGO_ADMIN,
        fill={"content_type_id": "4", "object_id": "{user_pk}"}),
    Row("admin/search/", DJANGO_ADMIN, query={"s": "key", "extended": "1"}),
    Row("admin/(?P<url>.*)$", DJANGO_ADMIN, path="admin/nothing"),
    Below("admin/^(?P<app_label>", DJANGO_ADMIN, path="admin/acl/"),
    Below("admin/", DJANGO_ADMIN, body={"post": "yes", "_save": "Save"}),
]  # fmt: skip


@cache
def rows_of(route: str) -> list[Row]:
    """Return the rows of a route: its own, or that of its prefix.

    A route has several rows if its methods have different doors.
    """
    own = [row for row in ROUTES if isinstance(row, Row) and row.route == route]
    if own:
        return own
    for row in ROUTES:
        if isinstance(row, Below) and route.startswith(row.prefix):
            return [Row(route, row.door, "GET POST", body=row.body, path=row.path)]
    return []


def methods_of(row: Row) -> list[str]:
    """Return all methods except those of the route's other rows.

    Two for Django's admin, since the same check guards each of its views, whatever the method; and
    each method but POST is answered as GET.
    """
    if row.door is DJANGO_ADMIN:
        return ["GET", "POST"]
    others = {
        method for other in rows_of(row.route) if other != row for method in other.methods.split()
    }
    if "GET" in others:
        others |= {"HEAD", "OPTIONS"}
    return [method for method in METHODS if method not in others]


def named_by(row: Row) -> set[str]:
    """Return the names that a request for the row needs, such as "space_pk"."""
    written = f"{row.door.query} {row.query} {row.body} {row.fill}"
    named = set(re.findall(r"{(\w+)}", written))
    return named | (
        {"row"} if row.door is DJANGO_ADMIN and "<" in row.route and not row.path else set()
    )
