"""Token costs of a whole catalogue in each mode, and of the tiers for real messages.

    DATABASE_URL=… REDIS_URL=… python -m lab.bench.told CATALOG_OR_starter [MESSAGES]

Fills an empty database. Prints JSON; `python -m lab.bench.tokens --told` runs it on its own
servers. Messages come from a labelled set, or else are first sentences of descriptions, evenly
spread.
"""

import json
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import django

from acl.rights.caller_lookup import Caller

MESSAGES = 300


def main() -> None:
    """Fill the database, measure, and print the result."""
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    catalogue, *labelled = sys.argv[1:]
    caller, capabilities = _fill(catalogue)
    messages = list(_messages(Path(labelled[0]))) if labelled else _sentences(capabilities)
    told = {"capabilities": len(capabilities), "messages": len(messages)}
    print(json.dumps(told | _modes(caller) | _tiers(caller, messages)))


def _fill(catalogue: str) -> tuple[Caller, Sequence[Any]]:
    from django.contrib.auth.models import Group, User

    from catalog.embedding.jobs import embed_pending
    from catalog.formats.loader import load_path
    from catalog.registration.register import register
    from marketplace.offers.kinds.starter import starter_collection

    loaded = starter_collection() if catalogue == "starter" else load_path(Path(catalogue))
    group = Group.objects.create(name="all")
    user = User.objects.create(username="alice")
    user.groups.add(group)
    register(loaded, by=None, source="bench", group=group, send=False)
    embed_pending()
    return Caller(user.pk, group.pk), loaded.capabilities


def _messages(path: Path) -> Iterator[str]:
    return (json.loads(line)["query"] for line in path.read_text().splitlines())


def _sentences(capabilities: Sequence[Any]) -> list[str]:
    from catalog.capabilities.detail_levels import short_description

    described = [one.description for one in capabilities if one.description.strip()]
    step = max(1, len(described) // MESSAGES)
    return [short_description(text, 120).rstrip(".…") for text in described[::step]][:MESSAGES]


def _modes(caller: Caller) -> dict[str, Any]:
    from discovery.answer.injection import SEARCH, inject_everything, write_found

    def cost(mode: str) -> int:
        return inject_everything(caller=caller, provider="anthropic", forced=mode).tokens

    return {
        "direct": _written(caller, None),
        "compact": _written(caller, "compact_schema"),
        "micro": _written(caller, "micro_schema"),
        "lines": cost("compact_direct"),
        "discovery": cost("discovery"),
        SEARCH.name: write_found((), provider="anthropic", deferred=False).tokens,
    }


def _written(caller: Caller, level: Any) -> int:
    """Render all tools in a provider's format, with full or shortened schemas."""
    from dataclasses import replace

    from catalog.capabilities.detail_levels import schema_at
    from catalog.token_counter import estimate_tokens
    from discovery.answer import modes
    from discovery.answer.formats.registry import write_tools

    tools = modes.read(caller)
    if level != "micro_schema":
        short = [
            replace(tool, input_schema=schema_at(level, tool.input_schema)["input_schema"])
            for tool in tools
        ] if level else tools  # fmt: skip
        return estimate_tokens(write_tools(short, "anthropic"))
    return sum(
        estimate_tokens([tool.name, tool.description, schema_at(level, tool.input_schema)])
        for tool in tools
    )


def _tiers(caller: Caller, messages: Iterable[str]) -> dict[str, Any]:
    from discovery.answer.injection import inject_selected, write_found
    from discovery.answer.prompt import cost
    from discovery.answer.tiers import TierOptions
    from discovery.select.selection import SelectRequest
    from discovery.select.selector import select_capabilities
    from discovery.turns.discover import discover

    figures: dict[str, list[int]] = {}
    options = TierOptions.of_the_deployment()
    for message in messages:
        asked = SelectRequest(message, caller)
        one = discover(asked, options=options)
        tools = write_found(one.found, provider="anthropic", deferred=False).tokens
        selected = inject_selected(select_capabilities(asked), provider="anthropic").tokens
        told = dict(zip(("tier 0", "tier 1", "tier 2"), map(cost, one.texts), strict=True))
        told |= {"tiers": cost(one.context), "tiers' tools": tools, "selected": selected}
        for name, tokens in told.items():
            figures.setdefault(name, []).append(tokens)
    return {name: _spread(values) for name, values in figures.items()}


def _spread(values: Sequence[int]) -> list[int]:
    """Return median, 95th percentile and maximum."""
    return [round(statistics.median(values)), sorted(values)[len(values) * 95 // 100], max(values)]


if __name__ == "__main__":
    main()
