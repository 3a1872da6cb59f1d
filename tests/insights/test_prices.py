"""Prices of models: the shipped list, an admin's own, and costs that are told only with a price."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from acl.models import AuditEntry
from discovery.models import Call, ModelPrice, Turn
from discovery.prices.model import list_prices, price_of, set_price, shipped_prices
from tests.access.people import People
from tests.factories import UserFactory, waiting_call
from tests.insights.downloads import table
from tests.sessions import session_of
from tests.web.conftest import client_with, new_key


@pytest.fixture
def root(people: People) -> User:
    return UserFactory.create(username="root", is_staff=True, is_superuser=True)


def test_shipped_prices_have_dates_and_sources_and_fit_themselves() -> None:
    prices = shipped_prices()

    assert len({price.pattern for price in prices}) == len(prices) > 10
    assert all(price.source and price.noted_on.year >= 2026 for price in prices)
    assert all(0 < price.input_price < price.output_price for price in prices)
    assert all(price_of(price.pattern, prices) == price for price in prices)


@pytest.mark.django_db
def test_closest_pattern_holds_and_unknown_models_have_no_price() -> None:
    for pattern, read in (("plum*", 1), ("plum-2*", 2), ("plum-2-mini", 3), ("gpt-4.1", 9)):
        set_price(by=None, pattern=pattern, input_price=Decimal(read), output_price=Decimal(0))
    prices = list_prices()

    found = {
        model: price and price.input_price
        for model in ("plum", "Plum-1", "plum-2-mini", "plum-2-maxi", "gpt-4.1", "aplum", "", "gpt")
        for price in [price_of(model, prices)]
    }

    assert found == {
        "plum": 1, "Plum-1": 1, "plum-2-mini": 3, "plum-2-maxi": 2, "gpt-4.1": 9, "aplum": None,
        "": None, "gpt": None,
    }  # fmt: skip
    assert [price.pattern for price in prices].count("gpt-4.1") == 1


def test_admin_sets_and_deletes_prices_by_page_and_api(people: People, root: User) -> None:
    client, path = session_of(root), "/insights/prices/"
    body = {"model": "Plum-1*", "input_price": "1.5", "output_price": "6", "source": "our contract"}

    saved = client.post(path, body)
    wrong = [
        client.post(path, {**body, **change}).status_code
        for change in (
            {"model": ""}, {"model": "a*b"}, {"model": "a b"}, {"input_price": "-1"},
            {"output_price": "x"}, {"input_price": "NaN"}, {"noted_on": "yesterday"},
        )
    ]  # fmt: skip
    page = client.get(path).content.decode()
    api = client.post(
        "/api/v1/prices",
        {"model": "plum-1*", "input": "2", "output": "8"},
        content_type="application/json",
    )
    refused = client.post(
        "/api/v1/prices",
        {"model": "a*b", "input": "2", "output": "8"},
        content_type="application/json",
    )
    listed = client.get("/api/v1/prices").json()["prices"]
    price = ModelPrice.objects.get()
    deleted = client.post(f"{path}{price.pk}/delete/")

    assert saved.status_code == 302
    assert wrong == [422] * 7
    assert "our contract" in page
    assert (api.status_code, api.json()["input"]) == (200, 2.0)
    assert refused.status_code == 400
    assert "model" in str(refused.json())
    assert next(row for row in listed if row["model"] == "plum-1*")["id"] == price.pk
    assert deleted.status_code == 302
    assert not ModelPrice.objects.exists()
    assert list(
        AuditEntry.objects.filter(target="plum-1*").order_by("pk").values_list("action", flat=True)
    ) == ["model_price.set", "model_price.set", "model_price.deleted"]
    assert client_with(new_key(people.support, "admin")).get("/api/v1/prices").status_code == 403
    assert session_of(people.alice).get(path).status_code == 404


def test_costs_are_told_with_a_price_and_never_without(people: People, root: User) -> None:
    set_price(by=None, pattern="plum-1", input_price=Decimal(10), output_price=Decimal(100))
    call = waiting_call(people.alice, people.support, people.send, "x")
    at = timezone.now() - timedelta(minutes=5)
    Call.objects.filter(pk=call.pk).update(
        state="completed", needs_approval=False, created_at=at, started_at=at, ended_at=at,
        tokens_arguments=1000, tokens_result=2000,
    )  # fmt: skip
    Turn.objects.create(
        user=people.alice, group=people.support, tokens_all=90_000, tokens_selected=4000
    )
    client, path = session_of(root), "/api/v1/figures/use"

    person = client.get(path, {"by": "person", "model": "plum-1"}).json()
    tool = client.get(path, {"by": "tool", "model": "plum-1"}).json()
    unknown = client.get(path, {"by": "person", "model": "nobody-knows"}).json()
    page = client.get("/insights/use/?model=plum-1").content.decode()
    plain = client.get("/insights/use/?model=nobody-knows").content.decode()
    figures = client.get("/insights/?model=plum-1").content.decode()
    german = client.get(
        "/insights/?model=plum-1", headers={"Accept-Language": "de"}
    ).content.decode()
    rows = table(client, "use_person", "?model=plum-1")

    # Read: 2,000 of results, 4,000 or 90,000 of definitions. Written: 1,000 of arguments.
    assert person["priced_by"] == "plum-1"
    [alice] = person["items"]
    assert (alice["cost"], alice["cost_with_all"]) == (pytest.approx(0.16), pytest.approx(1.02))
    assert (tool["items"][0]["cost"], tool["items"][0]["cost_with_all"]) == (
        pytest.approx(0.12), None,
    )  # fmt: skip
    assert unknown["priced_by"] is None
    assert (unknown["items"][0]["cost"], unknown["items"][0]["cost_with_all"]) == (None, None)
    assert "$0.16" in page
    assert re.search(r"\$0\.04</strong>\s*<span[^>]*>\s*\$0\.86 saved at the price of", figures)
    assert "0,86 $ gespart zum Preis von plum-1" in german
    assert "$1.02" in page
    assert "$" not in plain.split('id="found"')[1]
    assert (Decimal(rows[0]["cost"]), Decimal(rows[0]["cost_with_all"])) == (
        Decimal("0.16"), Decimal("1.02"),
    )  # fmt: skip
