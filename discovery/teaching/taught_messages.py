"""Taught messages: proposed or imported, confirmed, dropped, forgotten, and what they changed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from statistics import fmean
from uuid import NAMESPACE_OID, UUID, uuid5

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from pgvector import HalfVector, Vector

from acl.audit.recorder import record
from acl.platform.database_work import try_lock
from acl.platform.task_names import LEARN_TAUGHT, send_on_commit
from acl.rights.caller_lookup import Caller
from catalog.models import Capability, EmbeddingModel
from discovery.learning.experience_store import NOTHING, Note, read_note
from discovery.learning.memory import choice_worth
from discovery.metatools import META_TOOLS
from discovery.models import Experience, TaughtMessage
from discovery.models.taught_message import LONGEST_MESSAGE
from discovery.select.selection import Selection, SelectRequest
from discovery.select.selector import select_capabilities

# Experiences of taught messages: their gains, and their tools' places before and after.
#
# Each message is asked with the experiences of all others, and not its own. So the gains, by which
# a group's weight rises, and the places that the page shows, are those of a message that nobody
# taught.

_LOCK = "learn taught messages"


def learn_taught() -> int:
    """Learn all taught messages that are pending; return their number.

    Safe to run twice: a second run beside this one does nothing, and the next sweep finds what it
    has left. Nothing is learned while learning is off or no model answers.
    """
    if not settings.PEGBOARD_LEARNING:
        return 0
    with try_lock(_LOCK) as acquired:
        if not acquired:
            return 0
        model = EmbeddingModel.objects.filter(active=True).first()
        groups = _pending_groups(model) if model else []
        return sum(_learn_group(group, model) for group in groups if model)


def _pending_groups(model: EmbeddingModel | None) -> list[int]:
    taught = TaughtMessage.objects.filter(state=TaughtMessage.State.CONFIRMED)
    pending = taught.filter(Q(learned_by__isnull=True) | ~Q(learned_by=model))
    return list(pending.order_by("group").values_list("group", flat=True).distinct())


def _learn_group(group: int, model: EmbeddingModel) -> int:
    taught = list(
        TaughtMessage.objects.filter(
            group=group, state=TaughtMessage.State.CONFIRMED
        ).prefetch_related("tools")
    )
    missing = [
        message for message in taught if not message.experiences.filter(model=model).exists()
    ]
    if not all(_remember(message, model) for message in missing):
        return 0
    # Gains first: they decide the weight by which the places come about.
    for message in taught:
        note = _note(_select(message, (message.pk,)))
        for tool in message.tools.all():
            gains = note.gains_for(tool.pk) if note else NOTHING
            Experience.objects.filter(taught=message, capability=tool).update(
                gains=Vector([*gains])
            )
    every = tuple(message.pk for message in taught)
    for message in taught:
        before, after = _places(message, every), _places(message, (message.pk,))
        TaughtMessage.objects.filter(pk=message.pk).update(
            learned_by=model, places_before=before, places_after=after
        )
    return len(taught)


def _remember(taught: TaughtMessage, model: EmbeddingModel) -> bool:
    """Store the message's experiences, without gains; False without a vector of the model."""
    note = _note(_select(taught, (taught.pk,)))
    if note is None or note.model != model.name:
        return False
    rows = [
        Experience(
            group_id=taught.group_id,
            user_id=taught.user_id,
            capability=tool,
            model=model,
            turn=taught.pk,
            taught=taught,
            vector=HalfVector(note.vector),
            worth=choice_worth(1.0),
            gains=Vector([*NOTHING]),
        )
        for tool in taught.tools.all()
    ]
    with transaction.atomic():
        # Another model's go: an experience is unique by turn and capability.
        Experience.objects.filter(taught=taught).delete()
        if TaughtMessage.objects.select_for_update().filter(pk=taught.pk).exists():
            Experience.objects.bulk_create(rows)
    return True


def _places(taught: TaughtMessage, apart: Sequence[UUID]) -> list[int]:
    ranking = _select(taught, apart).ranking
    places = {identifier: place for place, identifier in enumerate(ranking, 1)}
    return [
        places.get(tool.identifier, 0)
        for tool in sorted(taught.tools.all(), key=lambda tool: tool.pk)
    ]


def _select(taught: TaughtMessage, apart: Sequence[UUID]) -> Selection:
    caller = Caller(taught.user_id, taught.group_id)
    return select_capabilities(SelectRequest(taught.message, caller, apart=tuple(apart)))


def _note(selection: Selection) -> Note | None:
    return read_note(bytes(selection.noted)) if selection.noted else None


MOST_TAUGHT = 500
MOST_TOOLS = 10
DEPTH = 5  # the figures' recall@5


class TeachingRefusedError(Exception):
    """Refused decision, with the proposal's id and the wrong field."""

    def __init__(self, pk: UUID, field: str, message: str) -> None:
        super().__init__(message)
        self.pk = pk
        self.field = field


@dataclass(frozen=True, slots=True)
class Decision:
    """An admin's decision about a proposal; without tools it is dropped."""

    message: str = ""
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaughtFigures:
    """Figures of taught messages, before and after teaching.

    Each message's `after` counts all others and not itself, so that it does not merely repeat what
    it was told. Recall is that of its tools among the first five.
    """

    number: int
    pending: int
    recall_before: float
    recall_after: float
    better: int
    worse: int

    @property
    def before_percent(self) -> float:
        """Return the recall before in per cent."""
        return 100 * self.recall_before

    @property
    def after_percent(self) -> float:
        """Return the recall after in per cent."""
        return 100 * self.recall_after


@transaction.atomic
def decide(*, by: User, caller: Caller, decisions: Mapping[UUID, Decision]) -> int:
    """Save decisions about the caller's own proposals; return how many are taught.

    Raises TeachingRefusedError, and saves nothing, where a message is empty or a tool is not one
    that the caller may use.
    """
    proposals = open_proposals(caller).filter(pk__in=decisions).select_for_update(of=["self"])
    taught = 0
    for proposal in proposals:
        decision = decisions[proposal.pk]
        if decision.tools:
            _confirm(caller, proposal, decision)
            taught += 1
        else:
            _close(proposal, TaughtMessage.State.DROPPED)
    if taught:
        _tell(by, caller, "learning.teach", taught)
    return taught


def _confirm(caller: Caller, proposal: TaughtMessage, decision: Decision) -> None:
    message = clean_message(decision.message)
    if not message:
        raise TeachingRefusedError(proposal.pk, "message", _("Enter a message."))
    if _confirmed(caller.group_id).count() >= MOST_TAUGHT:
        reason = _("A group has at most %(number)s taught messages. Forget some first.")
        raise TeachingRefusedError(proposal.pk, "message", reason % {"number": MOST_TAUGHT})
    others = TaughtMessage.objects.filter(group=proposal.group_id, user=proposal.user_id)
    if others.filter(message=message).exclude(pk=proposal.pk).exists():
        raise TeachingRefusedError(
            proposal.pk, "message", _("This message has already been added.")
        )
    tools = find_tools(caller, proposal.pk, decision.tools)
    proposal.message = message
    _close(proposal, TaughtMessage.State.CONFIRMED)
    proposal.tools.set(tools)


def find_tools(caller: Caller, pk: UUID, names: Sequence[str]) -> list[Capability]:
    """Return the tools of these full names; unknown ones and others' look alike."""
    if len(names) > MOST_TOOLS:
        reason = _("At most %(number)s tools serve one message.") % {"number": MOST_TOOLS}
        raise TeachingRefusedError(pk, "tools", reason)
    rows = Capability.objects.filter(full_name__in=names)
    tools = list(Capability.objects.usable_by(caller, among=rows))
    missing = sorted(set(names) - {tool.full_name for tool in tools})
    if missing:
        reason = _("You cannot use a tool called “%(name)s”.") % {"name": missing[0]}
        raise TeachingRefusedError(pk, "tools", reason)
    return tools


def _close(proposal: TaughtMessage, state: TaughtMessage.State) -> None:
    proposal.state, proposal.decided_at = state, timezone.now()
    proposal.save(update_fields=["message", "state", "decided_at"])


@transaction.atomic
def forget_taught(*, by: User, caller: Caller, pk: UUID) -> int:
    """Forget a taught message that the caller sees; return 1, or 0 where there is none."""
    taught = shown_messages(caller).filter(pk=pk).first()
    if taught is None:
        return 0
    taught.delete()
    _tell(by, caller, "learning.unteach", 1)
    return 1


def _tell(by: User, caller: Caller, action: str, number: int) -> None:
    """Record the change, and have the group's figures made anew."""
    group = by.groups.get(pk=caller.group_id)
    record(by=by, action=action, target=group.name, details={"messages": number})
    # Every message's place depends on all others, so all are pending again.
    _confirmed(caller.group_id).update(learned_by=None)
    send_on_commit(LEARN_TAUGHT)


def _confirmed(group_id: int) -> QuerySet[TaughtMessage]:
    return TaughtMessage.objects.filter(group=group_id, state=TaughtMessage.State.CONFIRMED)


def shown_messages(caller: Caller) -> QuerySet[TaughtMessage]:
    """Return the group's taught messages, newest first, all of whose tools the caller may use."""
    usable = Capability.objects.usable_by(caller, unavailable=True).values("pk")
    unusable = TaughtMessage.tools.through._default_manager.exclude(capability__in=usable)
    rows = _confirmed(caller.group_id).exclude(pk__in=unusable.values("taughtmessage"))
    return rows.order_by("-decided_at", "pk")


def taught_figures(caller: Caller) -> TaughtFigures:
    """Return what the shown messages have changed, as of when they were last learned."""
    model = EmbeddingModel.objects.filter(active=True).values_list("pk", flat=True).first()
    rows = list(shown_messages(caller).values_list("learned_by", "places_before", "places_after"))
    measured = [(before, after) for by, before, after in rows if by and before]
    pairs = [(recall_of(before), recall_of(after)) for before, after in measured]
    moves = [_sum(before) - _sum(after) for before, after in measured]
    return TaughtFigures(
        number=len(rows),
        pending=sum(by != model for by, _before, _after in rows),
        recall_before=fmean(before for before, _ in pairs) if pairs else 0.0,
        recall_after=fmean(after for _, after in pairs) if pairs else 0.0,
        better=sum(move > 0 for move in moves),
        worse=sum(move < 0 for move in moves),
    )


def recall_of(places: Sequence[int]) -> float:
    """Return the share of the tools that are among the first five."""
    return sum(0 < place <= DEPTH for place in places) / len(places)


def _sum(places: Sequence[int]) -> int:
    return sum(place or 21 for place in places)  # beyond the twenty that are ranked


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
