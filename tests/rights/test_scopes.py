"""Every operation and service compares what it does with the key that the request has shown."""

import ast
import re
from collections.abc import Callable
from fnmatch import fnmatch
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.core.management import CommandError, call_command, get_commands, load_command_class
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework.views import APIView

from acl.actor import note_key, request_context
from acl.audit.recorder import CONSEQUENCES, SCOPES, record
from acl.keys.lifecycle import create_key, holder_of, revoke_key
from acl.models import ApiKey, AuditEntry
from acl.models.api_key import Rank
from acl.platform.database_work import database_now
from acl.rights.delegation.authority import KeyHolder
from acl.web.authentication import scopes_of
from catalog.access.grants import grant, grant_integrations, revoke
from catalog.models import Integration
from discovery.calls._policy import set_policy
from discovery.metatools import META_TOOLS
from discovery.models import CallPolicy
from discovery.models.call import Content
from marketplace.installs.integration_management import set_enabled, uninstall
from tests.factories import GroupFactory, IntegrationFactory, UserFactory

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
    "GET api/v1/own-servers": ADMIN,
    "PUT api/v1/own-servers": ADMIN,
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
    "GET api/v1/integrations/<slug:slug>/example-requests": ADMIN,
    "POST api/v1/integrations/<slug:slug>/example-requests": ADMIN,
    "PUT api/v1/integrations/<slug:slug>/example-requests": ADMIN,
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


ACTION = re.compile(r"[a-z_]+\.[a-z_]+$")
RECORDERS = {"record", "_record_each"}
APPS = ("acl", "catalog", "discovery", "marketplace")
ADMINISTERED = {"group", "invitation", "person", "service_account", "space"}


@pytest.fixture
def owner() -> User:
    return UserFactory.create(is_staff=True, is_superuser=True)


def some_holder(owner: User, chance: Random) -> KeyHolder:
    """Return a key with random scopes for random groups of a random owner, or for all of them."""
    person = owner if chance.random() < 0.7 else UserFactory.create()
    groups = [GroupFactory.create() for _ in range(chance.randint(1, 3))]
    person.groups.add(*groups)
    everywhere = chance.random() < 0.4
    scopes = chance.sample(ApiKey.Scope.values, chance.randint(1, len(ApiKey.Scope.values)))
    _key, raw = create_key(
        by=None, name="some", owner=person, scopes=scopes, all_groups=everywhere,
        groups=[] if everywhere else groups,
    )  # fmt: skip
    holder = holder_of(raw)
    assert isinstance(holder, KeyHolder)
    return holder


def is_done(holder: KeyHolder, act: Callable[[], object]) -> bool:
    """Return True if the act, in a request with the key, was not refused."""
    with request_context(request_id="some", address=""):
        note_key(holder)
        try:
            with transaction.atomic():
                act()
        except PermissionDenied:
            return False
    return True


def some_concern(holder: KeyHolder, chance: Random) -> dict[str, object]:
    """Return some of the key's groups, perhaps with another, a person, or everybody."""
    kind = chance.choice(["groups", "groups", "person", "everybody"])
    if kind == "everybody":
        return {}
    if kind == "person":
        return {"person": chance.choice([holder.owner_id, UserFactory.create().pk])}
    assert holder.group_ids is not None
    groups = chance.sample(sorted(holder.group_ids), chance.randint(1, len(holder.group_ids)))
    return {"groups": [*groups, *([GroupFactory.create().pk] if chance.random() < 0.4 else [])]}


def may(holder: KeyHolder, action: str, concern: dict[str, object]) -> bool:
    """Say the rule again, in other words."""
    if not SCOPES[action] & holder.scopes:
        return False
    if action.split(".")[0] in ADMINISTERED and holder.rank == Rank.MEMBER:
        return False
    if "person" in concern:
        return concern["person"] == holder.owner_id
    is_everywhere = holder.all_groups and holder.rank > Rank.MEMBER
    if is_everywhere and {"admin", "scim"} & holder.scopes:
        return True
    groups = concern.get("groups", ())
    assert isinstance(groups, list | tuple)
    return bool(groups) and set(groups) <= (holder.group_ids or set())


@pytest.mark.parametrize("action", sorted(SCOPES))
def test_each_action_is_compared_with_the_key(owner: User, action: str) -> None:
    chance = Random(action)
    for _ in range(4):
        holder = some_holder(owner, chance)
        concern = some_concern(holder, chance)
        before = AuditEntry.objects.count()

        done = is_done(holder, lambda c=concern: record(by=owner, action=action, target="any", **c))  # type: ignore[misc]

        assert done == may(holder, action, concern), (holder, concern)
        assert AuditEntry.objects.count() - before == done


@pytest.mark.parametrize("ending", ["revoked", "expired"])
@pytest.mark.parametrize("action", sorted(a for a, scopes in SCOPES.items() if "admin" in scopes))
def test_a_key_that_ended_meanwhile_does_nothing(owner: User, action: str, ending: str) -> None:
    key, raw = create_key(by=None, name="k", owner=owner, scopes=["admin"], all_groups=True)
    owner.groups.add(GroupFactory.create())
    holder = holder_of(raw)
    assert isinstance(holder, KeyHolder)
    if ending == "revoked":
        revoke_key(by=owner, key=key)
    else:
        ApiKey.objects.filter(pk=key.pk).update(expires_at=database_now())

    done = is_done(holder, lambda: record(by=owner, action=action, target="any"))

    assert done == (action in {"key.revoked", "key.rotated"})


def test_an_action_that_nobody_listed_is_refused_to_every_key(owner: User) -> None:
    owner.groups.add(GroupFactory.create())
    _key, raw = create_key(
        by=None, name="k", owner=owner, scopes=ApiKey.Scope.values, all_groups=True
    )
    holder = holder_of(raw)
    assert isinstance(holder, KeyHolder)

    assert not is_done(holder, lambda: record(by=owner, action="crown.stolen", target="any"))


# Every action that the product writes down, read from its source.


def texts_of(node: ast.expr, tree: ast.Module) -> set[str]:
    """Return the texts that an expression may have. Of one that is handed on, they are all those in
    its module that look like an action; "*" stands for what only a run can tell."""
    match node:
        case ast.Constant(value=str(text)):
            return {text}
        case ast.IfExp():
            return texts_of(node.body, tree) | texts_of(node.orelse, tree)
        case ast.JoinedStr():
            return {"".join(parts) for parts in product(*(texts_of(v, tree) for v in node.values))}
        case ast.FormattedValue():
            return {"*"} if isinstance(node.value, ast.Name) else texts_of(node.value, tree)
        case ast.Name() | ast.Attribute():
            constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
            joined = (node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr))
            texts = {text for text in constants if isinstance(text, str) and ACTION.match(text)}
            return texts.union(*(texts_of(text, tree) for text in joined if begins(text)))
    return {"*"}


def begins(text: ast.JoinedStr) -> bool:
    """Return True if a formatted text begins as an action does."""
    return ACTION.match(f"{getattr(text.values[0], 'value', '')}x") is not None


def recorded_actions() -> dict[str, str]:
    """Return every action that the source writes, with the place where it does. Django's admin,
    which knows no keys, makes its own of the models' names."""
    actions: dict[str, str] = {}
    paths = [path for app in APPS for path in Path(settings.BASE_DIR, app).rglob("*.py")]
    for path in sorted(paths):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            is_call = isinstance(node, ast.Call) and ast.unparse(node.func) in RECORDERS
            if is_call and path.name != "admin_base.py":
                assert isinstance(node, ast.Call)
                for word in node.keywords:
                    texts = texts_of(word.value, tree) if word.arg == "action" else ()
                    actions |= dict.fromkeys(texts, f"{path}:{node.lineno}")
    return actions


def test_every_recorded_action_states_what_it_takes() -> None:
    stated = SCOPES.keys() | CONSEQUENCES
    recorded = recorded_actions()
    unstated = {
        action: place
        for action, place in recorded.items()
        if not any(fnmatch(name, action) for name in stated)
    }

    assert not unstated
    assert not SCOPES.keys() & CONSEQUENCES
    assert not {name for name in stated if not any(fnmatch(name, text) for text in recorded)}


@pytest.mark.parametrize("seed", range(5))
def test_services_change_nothing_for_a_key_of_some_groups(owner: User, seed: int) -> None:
    holder = some_holder(owner, Random(seed))
    group: Group = GroupFactory.create()
    integration = IntegrationFactory.create()
    of_all = holder.is_of_the_installation and "admin" in holder.scopes

    assert is_done(holder, lambda: grant(by=owner, target=integration, group=group)) == of_all
    assert is_done(
        holder, lambda: set_policy(by=owner, group=group, content=Content.REMOVED, days=3)
    ) == of_all  # fmt: skip
    assert CallPolicy.objects.filter(group=group).exists() == of_all
    assert is_done(
        holder, lambda: set_enabled(by=owner, integration=integration, enabled=False)
    ) == of_all  # fmt: skip
    assert is_done(holder, lambda: uninstall(by=owner, integration=integration)) == of_all
    assert Integration.objects.filter(pk=integration.pk).exists() != of_all


@pytest.mark.parametrize("seed", range(8))
def test_a_key_takes_from_its_groups_and_gives_them_nothing(owner: User, seed: int) -> None:
    chance = Random(seed)
    groups = [GroupFactory.create() for _ in range(3)]
    owner.groups.add(*groups)
    covered = chance.sample(groups, chance.randint(1, 2))
    _key, raw = create_key(by=None, name="k", owner=owner, scopes=["admin"], groups=covered)
    holder = holder_of(raw)
    assert isinstance(holder, KeyHolder)
    for group in groups:
        given, other = IntegrationFactory.create(), IntegrationFactory.create()
        grant_integrations(by=owner, integrations=[given], group=group)

        is_revoked = is_done(holder, lambda: revoke(by=owner, target=given, group=group))  # noqa: B023

        assert is_revoked == (group in covered)
        assert not is_done(
            holder,
            lambda: grant_integrations(by=owner, integrations=[other], group=group),  # noqa: B023
        )


# Commands that take a person: which option it is, and what is given to each beside it.
IN_A_NAME: dict[str, tuple[str, list[str]]] = {
    "add": ("by", ["https://example.com/mcp"]),
    "apply": ("as", ["{file}"]),
    "select": ("user", ["mail to ann"]),
    "teach": ("user", ["--propose=1", "--figures"]),
}
# The operator's own, about a person: nobody is acted for.
ABOUT_SOMEBODY = {"create_api_key", "turn_codes_off"}


def test_every_command_that_takes_a_person_is_known() -> None:
    takers = set()
    for name, app in get_commands().items():
        if str(app).partition(".")[0] in APPS:
            actions = load_command_class(str(app), name).create_parser("manage.py", name)._actions
            if {"by", "user", "owner", "username", "person", "key"} & {row.dest for row in actions}:
                takers.add(name)

    assert takers == IN_A_NAME.keys() | ABOUT_SOMEBODY


@pytest.mark.parametrize("who", ["nobody", "a deactivated admin", "a member of no group"])
@pytest.mark.parametrize("command", IN_A_NAME)
def test_a_command_in_a_name_does_no_more_than_the_person_may(
    command: str, who: str, tmp_path: Path
) -> None:
    is_admin = "admin" in who
    UserFactory.create(
        username="bob", is_staff=is_admin, is_superuser=is_admin, is_active=not is_admin
    )
    option, others = IN_A_NAME[command]
    file = tmp_path / "pegboard.yaml"
    file.write_text("pegboard: 1\ngroups:\n  - name: crown\n")
    arguments = [argument.format(file=file) for argument in others]

    with pytest.raises(CommandError):
        call_command(command, f"--{option}={'x' if who == 'nobody' else 'bob'}", *arguments)

    assert not AuditEntry.objects.exists()
    assert not Group.objects.filter(name="crown").exists()


def test_a_person_in_a_session_is_asked_at_the_door_only(owner: User) -> None:
    with request_context(request_id="some", address="", person=lambda: owner):
        record(by=owner, action="group.merged", target="any")

    assert AuditEntry.objects.filter(action="group.merged").exists()
