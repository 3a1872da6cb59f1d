"""Prices of models per million tokens, in US dollars: the shipped list with an admin's own on top.

No price is in the code: the list is `list_prices.csv`, each line with its date and source. A model
that no line fits has no price, and then no cost is shown.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from acl.audit.recorder import record
from acl.platform.database_work import database_now
from discovery.models import ModelPrice

MOST_PRICES = 500
_LIST = Path(__file__).with_name("list_prices.csv")
_MILLION = Decimal(1_000_000)
SOURCES = (
    gettext_noop("Anthropic's list price"),
    gettext_noop("Google's list price for text"),
    gettext_noop("OpenAI's list price"),
)


class PriceRefusedError(Exception):
    """A price cannot be noted; the text says why."""


@dataclass(frozen=True, slots=True)
class Price:
    """A price per million tokens. `pk` is that of the admin's row; the shipped have none."""

    pattern: str
    input_price: Decimal
    output_price: Decimal
    noted_on: date
    source: str
    pk: int | None = None

    def fits(self, model: str) -> bool:
        """Return True if the model has this price."""
        if self.pattern.endswith("*"):
            return model.startswith(self.pattern[:-1])
        return model == self.pattern

    def cost(self, *, tokens_read: int = 0, tokens_written: int = 0) -> Decimal:
        """Return what tokens cost that the model reads and writes, in US dollars."""
        return (tokens_read * self.input_price + tokens_written * self.output_price) / _MILLION


@cache
def shipped_prices() -> tuple[Price, ...]:
    """Return the prices of the shipped list."""
    with _LIST.open(encoding="utf-8", newline="") as file:
        return tuple(
            Price(
                row["pattern"], Decimal(row["input"]), Decimal(row["output"]),
                date.fromisoformat(row["noted_on"]), row["source"],
            )
            for row in csv.DictReader(file)
        )  # fmt: skip


def list_prices() -> list[Price]:
    """Return all prices by pattern, the admin's in place of a shipped one with its pattern."""
    stored_prices = [
        Price(row.pattern, row.input_price, row.output_price, row.noted_on, row.source, row.pk)
        for row in ModelPrice.objects.all()
    ]
    prices = {price.pattern: price for price in (*shipped_prices(), *stored_prices)}
    return [prices[pattern] for pattern in sorted(prices)]


def price_of(model: str, prices: Iterable[Price]) -> Price | None:
    """Return the price whose pattern fits the model most closely, or None.

    An exact name comes before every beginning, and a longer beginning before a shorter one. A
    pattern itself names its own price.
    """
    name = model.strip().lower()
    fitting = [price for price in prices if price.fits(name) or price.pattern == name]
    closest = max(
        fitting, key=lambda price: (price.pattern == name, len(price.pattern)), default=None
    )
    return closest if name else None


@transaction.atomic
def set_price(
    *,
    by: User | None,
    pattern: str,
    input_price: Decimal,
    output_price: Decimal,
    noted_on: date | None = None,
    source: str = "",
) -> ModelPrice:
    """Note a price, in place of an earlier one with its pattern. Raises PriceRefusedError."""
    pattern = pattern.strip().lower()
    if not pattern or "*" in pattern[:-1] or any(letter.isspace() for letter in pattern):
        raise PriceRefusedError(_("Enter a model's name, or its beginning with * at the end."))
    price, is_new = ModelPrice.objects.update_or_create(
        pattern=pattern,
        defaults={
            "input_price": input_price,
            "output_price": output_price,
            "noted_on": noted_on or database_now().date(),
            "source": source,
        },
    )
    if is_new and ModelPrice.objects.count() > MOST_PRICES:
        message = _("There are %(number)s prices already. Delete one first.")
        raise PriceRefusedError(message % {"number": MOST_PRICES})
    details = {"input": str(input_price), "output": str(output_price)}
    record(by=by, action="model_price.set", target=pattern, details=details)
    return price


@transaction.atomic
def delete_price(*, by: User | None, price: ModelPrice) -> None:
    """Delete a price of an admin; the shipped one of its pattern holds again."""
    pattern = price.pattern
    price.delete()
    record(by=by, action="model_price.deleted", target=pattern)
