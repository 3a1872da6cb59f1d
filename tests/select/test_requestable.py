"""Tools that everyone may ask for: told by name where nothing else fits, and nowhere else."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from acl.models import ServiceAccount, Space
from catalog.access.grants import set_requestable
from catalog.embedding.jobs import embed_pending
from catalog.models import Capability, Integration, Rule
from discovery.select.helping_offers import HelpOffer
from tests.factories import CapabilityFactory, IntegrationFactory, give
from tests.select.conftest import Shop

MESSAGE = "order a pizza"
JSON: Any = {"content_type": "application/json"}
OFFER = HelpOffer(
    "requestable",
    "pizzeria__order_pizza",
    "Order pizza of pizzeria may help. Ask an admin for it.",
    "/tools/requests/?wish=pizzeria__order_pizza",
)


@dataclass(frozen=True)
class Pizzeria:
    """An integration of finance, which alice of support may not use, and its tool."""

    shop: Shop
    integration: Integration
    tool: Capability

    def offers(self, **options: Any) -> list[HelpOffer]:
        """Return what alice may ask for."""
        return [one for one in self.shop.ask(MESSAGE, **options).help if one.kind == "requestable"]

    def alone(self) -> Any:
        """Return alice's answer, less what differs from call to call."""
        return replace(self.shop.ask(MESSAGE), timings={}, workings=None)


@pytest.fixture
def pizzeria(shop: Shop) -> Pizzeria:
    integration = IntegrationFactory.create(slug="pizzeria", title="Pizzeria")
    tool = CapabilityFactory.create(
        integration=integration,
        action="order_pizza",
        display_name="Order pizza",
        description="Order a pizza, with a word that nobody else has: margherita.",
    )
    embed_pending()
    give(integration, User.objects.get(pk=shop.charlie.user_id).groups.get())
    return Pizzeria(shop, integration, tool)


def mark(pizzeria: Pizzeria) -> None:
    set_requestable(by=None, integration=pizzeria.integration, requestable=True)


def test_marked_tool_is_told_by_name_alone(pizzeria: Pizzeria) -> None:
    mark(pizzeria)

    selection = pizzeria.shop.ask(MESSAGE)

    assert pizzeria.offers() == [OFFER]
    assert (selection.fit, selection.reason) == (
        "nothing_fits",
        "Nothing you can use fits this message.",
    )
    assert "margherita" not in repr(replace(selection, workings=None))


def test_unmarked_tool_changes_neither_answers_nor_statements(pizzeria: Pizzeria) -> None:
    pizzeria.shop.ask(MESSAGE)
    with CaptureQueriesContext(connection) as hidden:
        answer = pizzeria.alone()
    pizzeria.integration.delete()
    pizzeria.shop.ask(MESSAGE)
    with CaptureQueriesContext(connection) as absent:
        without = pizzeria.alone()

    assert answer == without
    assert len(hidden) == len(absent) == 5


def deny(pizzeria: Pizzeria, **about: Any) -> None:
    """Lay down a denying rule in the root space of alice's group."""
    space, _ = Space.objects.get_or_create(group_id=pizzeria.shop.alice.group_id, parent=None)
    Rule.objects.create(space=space, effect=Rule.Effect.DENY, **about)


def become_a_program(pizzeria: Pizzeria) -> None:
    alice = User.objects.get(pk=pizzeria.shop.alice.user_id)
    alice.set_unusable_password()
    alice.save()
    ServiceAccount.objects.create(user=alice)


def change(row: Any, **columns: Any) -> None:
    type(row).objects.filter(pk=row.pk).update(**columns)


HIDDEN: dict[str, Callable[[Pizzeria], object]] = {
    "denied as an integration": lambda it: deny(it, integration=it.integration),
    "denied as a tool": lambda it: deny(it, capability=it.tool),
    "denied to alice": lambda it: deny(
        it, integration=it.integration, user_id=it.shop.alice.user_id
    ),
    "disabled": lambda it: change(it.integration, enabled=False),
    "in quarantine": lambda it: change(it.tool, state="quarantined"),
    "blocked for AI": lambda it: change(it.tool, ai_access="blocked"),
    "asked by a program": become_a_program,
    "no longer marked": lambda it: set_requestable(
        by=None, integration=it.integration, requestable=False
    ),
}


def test_what_is_denied_or_cannot_work_is_not_told(pizzeria: Pizzeria) -> None:
    mark(pizzeria)
    told = {}

    for why, hide in HIDDEN.items():
        with transaction.atomic():
            hide(pizzeria)
            told[why] = pizzeria.offers()
            transaction.set_rollback(True)

    assert told == {why: [] for why in HIDDEN}
    assert pizzeria.offers() == [OFFER]


def test_mark_costs_nothing_where_something_fits(pizzeria: Pizzeria) -> None:
    counts = []
    for marked in (False, True):
        set_requestable(by=None, integration=pizzeria.integration, requestable=marked)
        pizzeria.shop.ask("what's on my calendar")
        with CaptureQueriesContext(connection) as statements:
            selection = pizzeria.shop.ask("what's on my calendar")
        counts.append(len(statements))
        assert (selection.fit, selection.help) == ("fits", ())

    assert counts == [1, 1]


def test_told_name_opens_nothing_but_the_request(pizzeria: Pizzeria, client: Client) -> None:
    mark(pizzeria)
    client.force_login(User.objects.get(username="alice"))

    answer = client.post("/api/v1/select", {"message": MESSAGE}, **JSON).json()
    [offer] = [one for one in answer["help"] if one["kind"] == "requestable"]
    opened = [
        (
            client.get(f"/api/v1/capabilities/{name}").status_code,
            client.post("/api/v1/execute", {"name": name, "arguments": {}}, **JSON).status_code,
            client.get("/api/v1/capabilities", {"query": "pizza"}).json()["total"],
        )
        for name in ("pizzeria__order_pizza", "pizzeria__no_such_tool")
    ]

    assert offer["mend_path"] == "/tools/requests/?wish=pizzeria__order_pizza"
    assert opened == [(404, 404, 0)] * 2
