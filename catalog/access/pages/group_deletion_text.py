"""Sentences about what is deleted with a group."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import ngettext_lazy

RULES_INSIDE = "rules in its spaces"  # beside the tables' labels
# What the labels of tables come to in words, in the order in which it is told.
_WORDS: tuple[tuple[frozenset[str], Any], ...] = (
    (
        frozenset({"catalog.integrationgrouppermission", "catalog.capabilitygrouppermission"}),
        ngettext_lazy("%(n)d grant", "%(n)d grants", "n"),
    ),
    (frozenset({"acl.space"}), ngettext_lazy("%(n)d space", "%(n)d spaces", "n")),
    (
        frozenset({RULES_INSIDE}),
        ngettext_lazy("%(n)d rule in its spaces", "%(n)d rules in its spaces", "n"),
    ),
    (
        frozenset({"catalog.rule"}),
        ngettext_lazy(
            "%(n)d rule for its members, in any space",
            "%(n)d rules for its members, in any space",
            "n",
        ),
    ),
    (
        frozenset({"catalog.runtimecapability"}),
        ngettext_lazy("%(n)d tool that it registered", "%(n)d tools that it registered", "n"),
    ),
    (
        frozenset({"acl.accessrequest", "catalog.serverproposal"}),
        ngettext_lazy("%(n)d request or proposal", "%(n)d requests and proposals", "n"),
    ),
    (
        frozenset({"discovery.turn", "discovery.call"}),
        ngettext_lazy(
            "%(n)d turn or call in its history", "%(n)d turns and calls in its history", "n"
        ),
    ),
    (
        frozenset({"discovery.experience", "discovery.taughtmessage"}),
        ngettext_lazy("%(n)d learned example", "%(n)d learned examples", "n"),
    ),
)
_OTHERS = ngettext_lazy("%(n)d other record", "%(n)d other records", "n")


def describe_rows(rows: Mapping[str, int]) -> list[str]:
    """Return a line for each kind of thing that goes, with its number."""
    known = frozenset[str]().union(*(labels for labels, _ in _WORDS))
    numbers = [(sum(rows.get(label, 0) for label in labels), words) for labels, words in _WORDS]
    others = sum(number for label, number in rows.items() if label not in known)
    return [str(words % {"n": number}) for number, words in (*numbers, (others, _OTHERS)) if number]
