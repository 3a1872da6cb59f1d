"""The tiers on the starter collection, for real messages."""

import json
import statistics

from catalog.token_counter import token_counter
from discovery.answer.tiers.options import TierOptions
from discovery.select.selection import SelectRequest
from discovery.turns.discover import discover
from marketplace.offers.kinds import starter
from tests.select.conftest import Shop, shop  # noqa: F401 - a fixture

MESSAGES = starter.FOLDER / "labelled" / "queries.jsonl"


def test_tiers_stay_within_their_tokens(shop: Shop) -> None:  # noqa: F811
    lines = MESSAGES.read_text().splitlines()[::9]
    options = TierOptions.of_the_deployment()
    told = [
        discover(SelectRequest(json.loads(line)["query"], shop.alice), options=options)
        for line in lines
    ]

    totals = [token_counter().count(one.context) for one in told]
    assert statistics.median(totals) <= 1_850
    assert max(totals) <= 3_000
    assert all(one.summary.text == told[0].summary.text for one in told)
    assert token_counter().count(told[0].summary.text) > 100
    assert any(detail.content_lines for one in told for detail in one.details.shown)
    nobody = discover(SelectRequest("send an email", shop.charlie), options=options)
    assert (nobody.context, nobody.found) == ("", [])
