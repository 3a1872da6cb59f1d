"""Sample messages for the tools that a caller has, and a sample conversation."""

from dataclasses import dataclass

from acl.rights.caller import Caller
from catalog.models import Capability
from discovery.pages.sample_messages import (
    CONVERSATIONS,
    MESSAGES,
    SMALL_TALK,
    Turn,
    choose_conversation,
)

MOST = 4
LONGEST = 90


@dataclass(frozen=True, slots=True)
class Samples:
    """Sample messages, a conversation, and whether the caller has any tools."""

    messages: tuple[str, ...]
    conversation: tuple[Turn, ...]
    has_tools: bool


def list_samples(caller: Caller | None) -> Samples:
    """Return example messages of the caller's tools, from up to four categories; one statement.

    Without such examples, use general ones.
    """
    if caller is None:
        return Samples((*MESSAGES, SMALL_TALK), choose_conversation(()), has_tools=True)
    usable = Capability.objects.usable_by(caller).connected().filter(pinned=False)
    rows = list(
        usable.order_by("category", "full_name", "pk")
        .distinct("category")
        .values_list("category", "examples")
    )
    # Categories that newcomers know from everyday life come first.
    known = [category for category, _ in CONVERSATIONS]
    rows.sort(key=lambda row: known.index(row[0]) if row[0] in known else len(known))
    first_examples = [
        str(examples[0]) for _, examples in rows if isinstance(examples, list) and examples
    ]
    own = [text for text in first_examples if len(text) <= LONGEST]
    messages = tuple(dict.fromkeys([*own, *MESSAGES]))[:MOST]
    return Samples(
        (*messages, SMALL_TALK), choose_conversation([category for category, _ in rows]), bool(rows)
    )
