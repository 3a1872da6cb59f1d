"""Proposals of messages to teach: from the words of tools that the admin may use, or imported."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from uuid import NAMESPACE_OID, uuid5

from django.db.models import QuerySet
from django.utils import timezone

from acl.rights.caller_lookup import Caller
from catalog.models import Capability
from discovery.metatools import META_TOOLS
from discovery.models import TaughtMessage
from discovery.models.taught_message import LONGEST_MESSAGE
from discovery.select.selection import SelectRequest
from discovery.select.selector import select_capabilities

MOST_OPEN = 200
MOST_AT_ONCE = 50
MOST_OFFERED = 5
_MOST_READ = 5000
_EXAMPLES_EACH = 2
_SHORTEST = 8


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool offered for a proposal; `chosen` if the selector, or its own words, would take it."""

    full_name: str
    display_name: str
    why: str
    chosen: bool


def open_proposals(caller: Caller) -> QuerySet[TaughtMessage]:
    """Return the caller's own undecided proposals in their group, oldest first.

    Others' are not shown: their words may come from tools that this caller may not use.
    """
    own_proposals = TaughtMessage.objects.filter(
        group=caller.group_id, user=caller.user_id, state=TaughtMessage.State.PROPOSED
    )
    return own_proposals.select_related("source").order_by("created_at", "pk")


def propose_messages(*, caller: Caller, most: int) -> int:
    """Propose messages from usable tools' examples and descriptions; return their number.

    Integrations take turns, so that a few messages cover many kinds of work. What was proposed
    before, whatever became of it, is not proposed again.
    """
    usable = Capability.objects.usable_by(caller).exclude(full_name__in=META_TOOLS.keys())
    texts = _texts(usable.filter(pinned=False))
    return _add(caller, texts, most=min(most, MOST_AT_ONCE))


def import_messages(*, caller: Caller, lines: Iterable[str]) -> int:
    """Propose each line that is new, within the bounds; return their number."""
    return _add(caller, ((clean_message(line), None) for line in lines), most=MOST_OPEN)


def clean_message(text: str) -> str:
    """Return the text on one line, cut at the longest that is stored."""
    return " ".join(text.split())[:LONGEST_MESSAGE].strip()


def offer_tools(caller: Caller, proposal: TaughtMessage) -> list[OfferedTool]:
    """Return the tools that the selector would choose, and the one whose words it is, if usable."""
    request = SelectRequest(proposal.message, caller, max_tools=MOST_OFFERED)
    selected = [item for item in select_capabilities(request).selected if not item.pinned]
    tools = {item.full_name: (str(item.display_name), item.reasons[:1]) for item in selected}
    source = proposal.source
    if source and source.full_name not in tools and _may_use(caller, source):
        tools[source.full_name] = (source.display_name, ())
    right = source.full_name if source and source.full_name in tools else next(iter(tools), "")
    return [
        OfferedTool(name, display, "".join(why), chosen=name == right)
        for name, (display, why) in tools.items()
    ]


def _may_use(caller: Caller, capability: Capability) -> bool:
    tool = Capability.objects.filter(pk=capability.pk)
    return Capability.objects.usable_by(caller, among=tool).exists()


def _texts(usable: QuerySet[Capability]) -> Iterator[tuple[str, int | None]]:
    rows = usable.order_by("integration_id", "full_name", "pk").values_list(
        "integration_id", "pk", "examples", "description"
    )
    by_integration: dict[int, list[list[tuple[str, int | None]]]] = {}
    for integration, pk, examples, description in rows[:_MOST_READ]:
        texts: list[tuple[str, int | None]] = [(text, pk) for text in _said(examples, description)]
        by_integration.setdefault(integration, []).append(texts)
    # First the first message of each tool, then the second ones; tools of the servers in turn.
    for number in range(_EXAMPLES_EACH):
        servers = by_integration.values()
        tools = (
            [entry[number] for entry in server_tools if number < len(entry)]
            for server_tools in servers
        )
        for turn in zip_longest(*tools):
            yield from (entry for entry in turn if entry is not None)


def _said(examples: object, description: str) -> list[str]:
    """Return what a person might say for a tool: its examples, or else what it says it does."""
    texts_listed = examples if isinstance(examples, list) else []
    texts = [clean_message(example) for example in texts_listed if isinstance(example, str)]
    sentence = clean_message(description.partition("\n")[0].partition(". ")[0]).rstrip(".")
    usable = [text for text in texts if len(text) >= _SHORTEST] or [sentence]
    return [text for text in usable if len(text) >= _SHORTEST][:_EXAMPLES_EACH]


def _add(caller: Caller, texts: Iterable[tuple[str, int | None]], *, most: int) -> int:
    mine = TaughtMessage.objects.filter(group=caller.group_id, user=caller.user_id)
    stored = set(mine.values_list("message", flat=True))
    room = max(0, MOST_OPEN - open_proposals(caller).count())
    new: dict[str, int | None] = {}
    fresh = ((text, pk) for text, pk in texts if text and text not in stored)
    for text, pk in fresh:
        if len(new) >= min(most, room):
            break
        new.setdefault(text, pk)
    now = timezone.now().isoformat()
    rows = [
        TaughtMessage(
            # Not by chance: the same request at the same moment stores the same rows.
            id=uuid5(NAMESPACE_OID, f"{caller.group_id}/{caller.user_id}/{now}/{text}"),
            group_id=caller.group_id,
            user_id=caller.user_id,
            message=text,
            source_id=pk,
        )
        for text, pk in new.items()
    ]
    TaughtMessage.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)
