"""All operations of the API with a key of each single scope: A4, KEY-1.

The routes come from the URLconf. A new one fails here until it has a scope in this table, which
`docs/api.md` and OpenAPI must repeat.
"""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework.views import APIView

from acl.keys.lifecycle import create_key
from acl.models import ApiKey
from acl.web.scopes import scopes_of
from discovery.metatools.registry import META_TOOLS
from tests.factories import GroupFactory, UserFactory

pytestmark = pytest.mark.django_db
SELECT, DISCOVER, EXECUTE, ADMIN = ("select",), ("discover",), ("execute",), ("admin",)
REGISTER = ("register",)
SCIM = ("scim",)
NOBODY: tuple[str, ...] = ()
# The longest matching prefix decides.
ASKED_FOR = {
    "POST api/v1/select": SELECT,
    "POST api/v1/plan": SELECT,
    "GET api/v1/turns/": SELECT,
    "POST api/v1/turns/": SELECT,
    "POST api/v1/discover": DISCOVER,
    "GET api/v1/capabilities": DISCOVER,
    "POST api/v1/capabilities/batch": DISCOVER,
    "POST api/v1/capabilities": REGISTER,
    "PUT api/v1/capabilities/": REGISTER,
    "PATCH api/v1/capabilities/": ADMIN,
    "DELETE api/v1/capabilities/": REGISTER,
    "GET api/v1/risks": ADMIN,
    "GET api/v1/runtime-capabilities": REGISTER,
    "GET api/v1/runtime-capabilities/": (*REGISTER, *ADMIN),
    "POST api/v1/runtime-capabilities/": ADMIN,
    "GET api/v1/categories": DISCOVER,
    "GET api/v1/tree": DISCOVER,
    "GET api/v1/names": DISCOVER,
    "GET api/v1/stats": DISCOVER,
    "GET api/v1/graph/": DISCOVER,
    "POST api/v1/graph/": ADMIN,
    "DELETE api/v1/graph/": ADMIN,
    "GET api/v1/learning": DISCOVER,
    "DELETE api/v1/learning": ADMIN,
    "GET scim/v2/": SCIM,
    "POST scim/v2/": SCIM,
    "PUT scim/v2/": SCIM,
    "PATCH scim/v2/": SCIM,
    "DELETE scim/v2/": SCIM,
    "GET v0.1/servers": DISCOVER,
    "PATCH v0.1/servers/": ADMIN,
    "GET api/v1/listings": (*DISCOVER, *ADMIN),
    "POST api/v1/listings": ADMIN,
    "GET api/v1/allowed-hosts": ADMIN,
    "POST api/v1/allowed-hosts": ADMIN,
    "DELETE api/v1/allowed-hosts": ADMIN,
    "POST api/v1/additions": ADMIN,
    "GET api/v1/additions/": ADMIN,
    "GET api/v1/access/explain": (*DISCOVER, *ADMIN),
    "GET api/v1/access/reach": (*DISCOVER, *ADMIN),
    "GET api/v1/access/holders": ADMIN,
    "GET api/v1/grants": ADMIN,
    "POST api/v1/grants": ADMIN,
    "DELETE api/v1/grants": ADMIN,
    "GET api/v1/access/grants": ADMIN,
    "POST api/v1/access/grants": ADMIN,
    "DELETE api/v1/access/grants": ADMIN,
    "GET api/v1/spaces": ADMIN,
    "POST api/v1/spaces": ADMIN,
    "PATCH api/v1/spaces/": ADMIN,
    "DELETE api/v1/spaces/": ADMIN,
    "GET api/v1/access/rules": ADMIN,
    "POST api/v1/access/rules": ADMIN,
    "DELETE api/v1/access/rules/": ADMIN,
    "GET api/v1/access/kept-rules": ADMIN,
    "DELETE api/v1/access/kept-rules/": ADMIN,
    "GET api/v1/meta": (*DISCOVER, *EXECUTE),
    "POST api/v1/meta/": (*DISCOVER, *EXECUTE),  # plus the scope of the tool
    "POST mcp": (*DISCOVER, *EXECUTE),  # likewise
    "GET mcp": (*DISCOVER, *EXECUTE),  # a stream of changes: resources also require execute
    "POST api/v1/execute": EXECUTE,
    "GET api/v1/calls": (*EXECUTE, *ADMIN),
    "GET api/v1/calls/": EXECUTE,
    "POST api/v1/calls/": EXECUTE,
    "GET api/v1/approvals": ADMIN,
    "POST api/v1/approvals/": ADMIN,
    "GET api/v1/integrations/": ADMIN,
    "POST api/v1/integrations/": ADMIN,
    "PUT api/v1/integrations/": ADMIN,
    "PATCH api/v1/integrations/": ADMIN,
    "GET api/v1/installations": ADMIN,
    "POST api/v1/installations": ADMIN,
    "PATCH api/v1/installations/": ADMIN,
    "DELETE api/v1/installations/": ADMIN,
    "GET api/v1/sources": ADMIN,
    "POST api/v1/sources": ADMIN,
    "PATCH api/v1/sources/": ADMIN,
    "DELETE api/v1/sources/": ADMIN,
    "GET api/v1/outcomes/": ADMIN,
    "GET api/v1/figures": ADMIN,
    "GET api/v1/groups": ADMIN,
    "POST api/v1/groups": ADMIN,
    "PATCH api/v1/groups/": ADMIN,
    "PUT api/v1/groups/": ADMIN,
    "DELETE api/v1/groups/": ADMIN,
    "GET api/v1/applications": ADMIN,
    "POST api/v1/applications": ADMIN,
    "PUT api/v1/applications/": ADMIN,
    "DELETE api/v1/applications/": ADMIN,
    "GET api/v1/quotas": ADMIN,
    "POST api/v1/quotas": ADMIN,
    "DELETE api/v1/quotas/": ADMIN,
    "GET api/v1/prices": ADMIN,
    "POST api/v1/prices": ADMIN,
    "DELETE api/v1/prices/": ADMIN,
    "GET api/v1/chat-models": ADMIN,
    "POST api/v1/chat-models": ADMIN,
    "DELETE api/v1/chat-models/": ADMIN,
    "GET api/v1/advice": ADMIN,
    "POST api/v1/advice": ADMIN,
    "DELETE api/v1/advice": ADMIN,
    "GET api/v1/people": ADMIN,
    "PATCH api/v1/people/": ADMIN,
    "DELETE api/v1/people/": ADMIN,
    "POST api/v1/invitations": ADMIN,
    "GET api/v1/keys": ADMIN,
    "POST api/v1/keys": ADMIN,
    "DELETE api/v1/keys/": ADMIN,
    "GET metrics": ADMIN,  # or from this machine
}
OPEN = {"GET healthz", "GET livez", "GET readyz", "GET api/schema/", "GET api/docs/"}
PLACES = {"uuid": "00000000-0000-4000-8000-000000000001", "int": "987654321"}


def operations() -> list[tuple[str, str, type[APIView]]]:
    """Yield method, route and view of each operation."""
    return [
        (method.upper(), route, view)
        for route, view in _below(get_resolver().url_patterns)
        for method in view.http_method_names
        if hasattr(view, method) and method not in {"head", "options"}
    ]


def _below(patterns: list[URLPattern | URLResolver], at: str = "") -> Any:
    for pattern in patterns:
        here = at + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _below(pattern.url_patterns, here)
        elif issubclass(view := getattr(pattern.callback, "view_class", object), APIView):
            yield here, view


def asked_for(operation: str) -> tuple[str, ...] | None:
    """Return the scopes in the table, by the longest matching prefix."""
    known = [start for start in ASKED_FOR if operation.startswith(start)]
    return ASKED_FOR[max(known, key=len)] if known else None


@pytest.fixture
def keys() -> dict[str, Client]:
    """A client for each scope, with a key that has no other."""
    group, clients = GroupFactory.create(), {}
    root = UserFactory.create(is_staff=True, is_superuser=True, groups=[group])
    for scope in ApiKey.Scope.values:
        _, raw = create_key(
            by=None, name=scope, scopes=[scope], acts_for_users=scope != "admin",
            group=None if scope == "admin" else group, all_groups=scope == "admin",
            owner=root if scope == "admin" else None,
        )  # fmt: skip
        clients[scope] = Client(headers={"Authorization": f"Bearer {raw}"}, REMOTE_ADDR="192.0.2.1")
    return clients


def test_every_operation_is_in_the_table() -> None:
    named = {f"{method} {route}" for method, route, _ in operations()}

    missing = {one for one in named if asked_for(one) is None and one not in OPEN}

    assert not missing, f"Say in ASKED_FOR which scope these ask for: {sorted(missing)}"
    assert not {start for start in ASKED_FOR if not any(one.startswith(start) for one in named)}


def test_views_require_what_the_table_says() -> None:
    wrong = [
        f"{method} {route}: {scopes_of(view, method)}"
        for method, route, view in operations()
        if f"{method} {route}" not in OPEN
        and set(scopes_of(view, method)) != set(asked_for(f"{method} {route}") or ())
    ]

    assert wrong == []


def test_key_gets_no_operation_of_another_scope(keys: dict[str, Client]) -> None:
    wrong = []
    for method, route, _ in operations():
        needed = asked_for(f"{method} {route}")
        if needed is None:
            continue
        path = "/" + re.sub(r"<(?:(\w+):)?\w+>", lambda m: PLACES.get(m[1], "x"), route)
        for scope, client in keys.items():
            answer = client.generic(method, path, "{}", "application/json")
            refused = answer.status_code == 403 and b"lacks the scope" in answer.content
            if refused == (scope in needed):
                wrong.append(f"{method} {route}: {scope}: {answer.status_code}")

    assert wrong == []


def test_each_meta_tool_asks_for_its_own_scope(keys: dict[str, Client]) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    for scope, client in keys.items():
        for name, tool in META_TOOLS.items():
            answer = client.post(f"/api/v1/meta/{name}", {}, "application/json")

            assert (answer.status_code == 403) == (scope != tool.scope), f"{name}: {scope}"
        listed = client.post("/mcp", body, "application/json")
        wanted = {name for name, tool in META_TOOLS.items() if tool.scope == scope}
        got = listed.json().get("result", {}).get("tools", []) if wanted else []
        assert listed.status_code == (200 if wanted else 403)
        assert {one["name"] for one in got} == wanted


def test_openapi_says_which_scope_each_operation_needs(client: Client) -> None:
    paths = client.get("/api/schema/", {"format": "json"}).json()["paths"]

    for path, methods in paths.items():
        for method, operation in methods.items():
            needed = asked_for(f"{method.upper()} {path.lstrip('/')}")
            if needed is None:
                assert "x-required-scopes" not in operation, path
            else:
                assert set(operation["x-required-scopes"]) == set(needed), f"{method} {path}"
                assert "Scope: `" in operation["description"]
