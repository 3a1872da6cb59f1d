"""What somebody could try: messages for tools that they have, and a conversation."""

from dataclasses import dataclass

from acl.rights.caller import Caller
from catalog.models import Capability
from discovery.pages.sample_messages import (
    CONVERSATIONS,
    MESSAGES,
    SMALL_TALK,
    Turn,
    conversation_for,
)

MOST = 4
LONGEST = 90


@dataclass(frozen=True, slots=True)
class Samples:
    """Messages, one click each; and whether there is any tool that they could find."""

    messages: tuple[str, ...]
    conversation: tuple[Turn, ...]
    has_tools: bool


def samples_for(caller: Caller | None) -> Samples:
    """Of up to four categories that the caller has, what one of its tools says of itself that
    people ask it; one statement. Ours, where the tools say nothing."""
    if caller is None:
        return Samples((*MESSAGES, SMALL_TALK), conversation_for(()), has_tools=True)
    usable = Capability.objects.usable_by(caller).connected().filter(pinned=False)
    rows = list(
        usable.order_by("category", "full_name", "pk")
        .distinct("category")
        .values_list("category", "examples")
    )
    # What newcomers know from everyday life comes first.
    known = [category for category, _ in CONVERSATIONS]
    rows.sort(key=lambda row: known.index(row[0]) if row[0] in known else len(known))
    said = [str(examples[0]) for _, examples in rows if isinstance(examples, list) and examples]
    own = [text for text in said if len(text) <= LONGEST]
    messages = tuple(dict.fromkeys([*own, *MESSAGES]))[:MOST]
    return Samples(
        (*messages, SMALL_TALK), conversation_for([category for category, _ in rows]), bool(rows)
    )
