"""Capabilities that need evidence of their own: those that delete or pay.

A wrong one does harm that cannot be undone, so no relation brings it into an answer.
"""

import re
from typing import Protocol

from catalog.models import Capability

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PAYS = frozenset(
    """buy charge checkout donate order pay payment payout payouts purchase refund remit rent
    sell subscribe tip transfer wire withdraw""".split()  # noqa: SIM905
)


class Described(Protocol):
    """Evidence from the name and the metadata of a capability."""

    @property
    def action(self) -> str: ...
    @property
    def side_effect(self) -> str: ...


def needs_own_evidence(capability: Described) -> bool:
    """Return True if it deletes, or if it changes something and its name says that it pays."""
    if capability.side_effect == Capability.SideEffect.DELETE:
        return True
    words = (word.lower() for word in _WORD.findall(capability.action))
    return capability.side_effect != Capability.SideEffect.READ and not _PAYS.isdisjoint(words)
