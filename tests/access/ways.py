"""Every call that answers for a user. A NEW CALL GETS A LINE IN WAYS."""

import json
import re
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

from django.contrib.auth.models import Group
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from acl.models import Space
from catalog.models import Capability, Integration, Rule, RuntimeCapability
from tests.access.people import People
from tests.factories import (
    CapabilityFactory,
    IntegrationFactory,
    give,
    lay_down,
    remember,
)

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


def hide_something(people: People, random: Random) -> None:
    """Create another forbidden capability, with names and words similar to alice's."""
    action = f"send_email_{random.randrange(10**6)}"
    words = {"action": action, "description": f"{MESSAGE} {action}", "vector": [1, 0, 0]}
    words["category"] = random.choice(["communication", "other", "payments"])
    words["required_tools"] = ["gmail__send_email", "gmail__search"]
    match random.randrange(9):
        case 0:
            CapabilityFactory.create(integration=people.payroll, **words)
        case 1:
            CapabilityFactory.create(integration=people.wiki, **words)
        case 2:
            CapabilityFactory.create(integration=people.gmail, state="quarantined", **words)
        case 3:
            access = random.choice(["app", "blocked"])
            CapabilityFactory.create(integration=people.gmail, ai_access=access, **words)
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
        case 7:
            ended = IntegrationFactory.create(slug=f"c-{action}")
            give(ended, people.support)
            CapabilityFactory.create(integration=ended, pinned=True, **words)
            end(ended, people.support)
        case 8:  # another person's own server, whatever else gives it
            bobs = IntegrationFactory.create(
                slug=f"d-{action}", restricted=True, owner=people.bob, transport="http"
            )
            give(bobs, people.bob)
            give(bobs, people.support)
            own = CapabilityFactory.create(integration=bobs, core=True, pinned=True, **words)
            give(own, people.alice)
            root = Space.objects.get(group=people.support, parent=None)
            lay_down(Rule.Effect.ALLOW, own, root)
    hidden = Capability.objects.latest("pk")
    for user in (people.bob, people.alice):
        remember(hidden, user, people.support)


def end(integration: Integration, group: Group) -> None:
    """Make all its capabilities runtime capabilities that expired; no sweep has come yet."""
    over = timezone.now() - timedelta(minutes=30)
    for one in integration.capabilities.all():
        RuntimeCapability.objects.create(
            integration=integration,
            name=one.action,
            full_name=one.full_name,
            group=group,
            expires_at=over,
        )


def change(row: Any, **values: Any) -> None:
    type(row).objects.filter(pk=row.pk).update(**values)
