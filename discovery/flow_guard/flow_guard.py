"""The guard: decides whether a call runs by itself or asks a person, by the origins of its values.

Values are followed by where they occur; no model is asked. What a call touches and whom it reaches
must come from the user's words, from values that an admin trusts, from trusted tools that no
stranger's text has touched, or from a record that the user named.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated, Any, Literal

from acl.platform.answer_model import Answer, Shown
from catalog.words.names import argument_words, singular, tool_words
from discovery.flow_guard._argument_roles import (
    CallArgument,
    arguments_of,
    creates_something,
    destinations_in,
    parts_of,
)
from discovery.flow_guard._spellings import normalize, words_of
from discovery.flow_guard._text_tokens import sentence_hashes
from discovery.flow_guard.tool_facts import ToolFacts, word_set
from discovery.flow_guard.turn_readings import Reading, TurnReadings

Source = Literal["user", "admin", "trusted_tool", "named_record", "this_turn", "read", "model"]
Cause = Literal[
    "", "target", "no_target", "no_message", "not_asked_for", "private_outside", "passed_on",
    "dictated", "composed_url",
]  # fmt: skip
_DECIDES: frozenset[Source] = frozenset(
    {"user", "admin", "trusted_tool", "named_record", "this_turn"}
)
# So many words of its own may be sent along, all of them of those that say nothing: a word of any
# other kind may be a secret, in letters or figures that nobody recognises.
_FREE_WORDS = 12
_SAYS_NOTHING = word_set("""
    a about all also am an and are as at be been best bye can could dear did do does for from fyi
    good greetings had has have he hello her here hey hi him his i if in is it its just kind let
    me my no not of ok okay on or our please re refund regards she sincerely so thank thanks that
    the their them there they this to us was we were will wishes with would yes you your
    das der die ein eine freundlichen gruß grüße guten hallo ich ist liebe lieber mit tag und viele
    à bonjour cordialement est et je la le les merci un une
    atentamente el es gracias hola las los saludos un una y
    """)
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class ValueOrigin(Answer):
    """Origin of a value that decides what the call touches."""

    component = "FlowValue"

    path: Annotated[str, Shown("The argument.")]
    value: str
    source: Annotated[
        Source,
        Shown(
            "`read` and `model` may not decide: an answer that strangers may have written, "
            "and no place that the guard knows."
        ),
    ]
    tool: Annotated[str, Shown("The tool whose answer has it.", optional=True)] = ""
    where: Annotated[str, Shown("The page or file, or the record.", optional=True)] = ""

    @property
    def decides(self) -> bool:
        """Return True if such a value may decide where a call goes."""
        return self.source in _DECIDES

    def __str__(self) -> str:
        where = f" ({self.where[:_SHOWN]})" if self.where else ""
        came_from = _FROM[self.source].format(tool=self.tool, where=where)
        return f"“{self.value[:_SHOWN]}” ({self.path}) {came_from}"


_FROM: dict[Source, str] = {
    "user": "stands in the message",
    "admin": "is trusted by an admin",
    "trusted_tool": "comes from the trusted tool {tool}",
    "named_record": "is the id of what the message names, from {tool}",
    "this_turn": "was made by {tool} in this turn",
    "read": "comes from the answer of {tool}{where}, not from the message",
    "model": "stands neither in the message nor in any answer",
}


@dataclass(frozen=True, slots=True)
class GuardVerdict:
    """Verdict on a call: why, what the model may do now, and the origins of its values."""

    asks: bool
    cause: Cause = ""
    reason: str = ""
    advice: str = ""
    origins: tuple[ValueOrigin, ...] = ()


RUNS = GuardVerdict(asks=False)


def judge(tool: ToolFacts, arguments: Mapping[str, Any], turn: TurnReadings) -> GuardVerdict:
    """Judge one call by what the turn's user wrote and its earlier calls returned."""
    words = tool_words(tool.name)
    creates = creates_something(words)
    values = arguments_of(arguments, tool.schema, creates=creates, nouns=tool.nouns)
    if not tool.acts:
        return _judge_read(tool, values, turn)
    deciding = [argument for argument in values if argument.role in ("target", "id")]
    origins = tuple(origin for argument in deciding for origin in _origins(argument, tool, turn))
    # Each of these asks, so their order decides only what the person reads: a strange recipient
    # first, since it says the most.
    if foreign := [origin for origin in origins if not origin.decides]:
        return _of_targets(tool, foreign, origins)
    if verdict := _unasked_for(tool, turn, origins):
        return verdict
    if not deciding and turn.has_text and (verdict := _without_target(tool, values, turn)):
        return verdict
    return _judge_content(tool, values, turn, origins) or GuardVerdict(asks=False, origins=origins)


def _origins(argument: CallArgument, tool: ToolFacts, turn: TurnReadings) -> list[ValueOrigin]:
    parts = [str(argument.value)] if argument.role == "id" else parts_of(argument.value)
    return [_origin(argument, part, tool, turn) for part in parts]


def _origin(argument: CallArgument, value: str, tool: ToolFacts, turn: TurnReadings) -> ValueOrigin:
    nouns = {argument.noun} if argument.noun else set(tool.nouns)
    is_named = turn.words.name_id(value, nouns) if argument.role == "id" else turn.words.name(value)
    if is_named:
        return ValueOrigin(argument.path, value, "user")
    if turn.words.trusts(value):
        return ValueOrigin(argument.path, value, "admin")
    if argument.role == "id" and (granted := turn.granted(value, nouns, tool)):
        source: Source = "named_record" if granted.name else "this_turn"
        return ValueOrigin(
            argument.path,
            value,
            source,
            next((reading.tool for reading in turn.readings if granted in reading.granted), ""),
            granted.name,
        )
    return _traced(argument.path, value, turn)


def _traced(path: str, value: str, turn: TurnReadings) -> ValueOrigin:
    """Return the origin of a value that the user did not write: strangers' text comes first."""
    holding = turn.holding(value)
    # A trusted tool that repeats a stranger's value does not make it trusted.
    foreign = next((reading for reading in holding if not reading.clean), None)
    first = foreign or next(iter(holding), None)
    if first is None:
        return ValueOrigin(path, value, "model")
    return ValueOrigin(
        path, value, "trusted_tool" if first.clean else "read", first.tool, first.where
    )


# Arguments whose names are no nouns.
_NOUNS = {
    "to": "recipient",
    "cc": "recipients of copies",
    "bcc": "recipients of hidden copies",
    "from": "sender",
    "url": "address",
    "uri": "address",
    "id": "id",
}


def as_noun(path: str) -> str:
    """Return the argument at a path as a noun: `message.to` is a recipient."""
    name = next((part for part in reversed(path.split(".")) if not part.isdigit()), path)
    return _NOUNS.get(name.lower(), name.replace("_", " ").replace("-", " "))


def _of_targets(
    tool: ToolFacts, foreign: list[ValueOrigin], origins: tuple[ValueOrigin, ...]
) -> GuardVerdict:
    what = " and ".join(dict.fromkeys(as_noun(origin.path) for origin in foreign))
    reason = (
        f"{foreign[0]}." if len(foreign) == 1 else f"{foreign[0]}, and {len(foreign) - 1} more."
    )
    advice = (
        f"A person must approve this call. To go on without that, ask the user for the {what} of "
        f"{tool.name} in their own words, then call it again."
    )
    return GuardVerdict(asks=True, cause="target", reason=reason, advice=advice, origins=origins)


def _unasked_for(
    tool: ToolFacts, turn: TurnReadings, origins: tuple[ValueOrigin, ...]
) -> GuardVerdict | None:
    """Ask for what the message does not ask for, once a text was read that may have."""
    if not turn.has_text:
        return None
    if turn.words.actions.covers(tool):
        return None
    what = "to delete, cancel or end anything" if tool.ends_something else f"for {tool.name}"
    return GuardVerdict(
        asks=True,
        cause="not_asked_for",
        reason=f"The message does not ask {what}, and texts were read before this call.",
        advice=f"Ask the user whether to call {tool.name}, and call it again if they say so.",
        origins=origins,
    )


def _without_target(
    tool: ToolFacts, values: list[CallArgument], turn: TurnReadings
) -> GuardVerdict | None:
    """Ask for a write without any target, unless the user wrote what identifies it."""
    labels = [argument for argument in values if argument.role in ("label", "amount")]
    origins = tuple(
        ValueOrigin(argument.path, str(argument.value), "user")
        if turn.words.name(str(argument.value))
        else _traced(argument.path, str(argument.value), turn)
        for argument in labels
    )
    if origins and all(origin.decides for origin in origins):
        return None
    texts = [argument for argument in values if argument.role == "content"]
    # True if a text has more than a greeting: a greeting alone shows nobody's wish.
    if (
        texts
        and not origins
        and _is_own_text(texts, turn)
        and any(set(words_of(normalize(str(argument.value)))) - _SAYS_NOTHING for argument in texts)
    ):
        return None
    return GuardVerdict(
        asks=True,
        cause="no_target",
        reason="The call names no target that the message has, and texts were read before it.",
        advice=f"Ask the user to say what {tool.name} is to change, then call it again.",
        origins=origins,
    )


def _judge_content(
    tool: ToolFacts,
    values: list[CallArgument],
    turn: TurnReadings,
    origins: tuple[ValueOrigin, ...],
) -> GuardVerdict | None:
    """Ask before private data or strangers' addresses leave with a call that goes outside."""
    if not (tool.reaches_outside or any("@" in origin.value for origin in origins)):
        return None
    content = [argument for argument in values if argument.role in ("content", "label")]
    for argument in values:
        if argument.role in ("target", "id", "amount"):
            continue
        for part in destinations_in(str(argument.value)):
            if turn.words.name(part) or turn.words.trusts(part):
                continue
            if passed_on := _foreign_origin(argument, part, turn):
                return _passed_on(passed_on, origins)
        if argument.role == "content" and (dictated := _dictated(str(argument.value), turn)):
            return _of_dictated(argument, dictated, origins)
    if turn.has_private and turn.has_foreign:
        steering = [
            argument
            for argument in values
            if argument.role in ("amount", "key", "option", "timing")
        ]
        if not _is_own_text(content, turn) or any(
            _is_private(argument, turn) for argument in steering
        ):
            return _private_outside(tool, turn, origins)
    return None


def _is_private(argument: CallArgument, turn: TurnReadings) -> bool:
    """Return True if a value stands in private data, and not in the message."""
    if isinstance(argument.value, bool) or turn.words.name(str(argument.value)):
        return False
    return any(reading.private for reading in turn.holding(argument.value))


def _foreign_origin(argument: CallArgument, value: str, turn: TurnReadings) -> ValueOrigin | None:
    """Return where an address in a text comes from, unless it may be passed on."""
    holding = turn.holding(value)
    foreign = (reading for reading in holding if not reading.clean)
    # What was cut off an answer may have it.
    cut = (reading for reading in turn.readings if reading.cut and not reading.clean)
    if reading := next(chain(foreign, cut), None):
        return ValueOrigin(argument.path, value, "read", reading.tool, reading.where)
    # Nobody wrote it so: a text may have told how to put it together.
    return ValueOrigin(argument.path, value, "model") if turn.has_foreign and not holding else None


def _passed_on(origin: ValueOrigin, origins: tuple[ValueOrigin, ...]) -> GuardVerdict:
    return GuardVerdict(
        asks=True,
        cause="passed_on",
        reason=f"The text passes on an address: {origin}.",
        advice="Leave the address out, or ask the user whether to pass it on.",
        origins=(*origins, origin),
    )


def _dictated(text: str, turn: TurnReadings) -> Reading | None:
    """Return the answer that has every sentence of a text inside a longer one.

    A text that is passed on as a whole is no dictation, nor is one that the user wrote.
    """
    if turn.words.may_name(text) and turn.words.name(text):
        return None
    sentences, whole = sentence_hashes(text)
    if not sentences:
        return None
    for reading in turn.readings:
        if (
            not reading.clean
            and all(map(reading.has_hash, sentences))
            and not reading.has_hash(whole)
        ):
            return reading
    return None


def _of_dictated(
    argument: CallArgument, reading: Reading, origins: tuple[ValueOrigin, ...]
) -> GuardVerdict:
    origin = ValueOrigin(argument.path, str(argument.value), "read", reading.tool, reading.where)
    return GuardVerdict(
        asks=True,
        cause="dictated",
        reason=f"The text stands word for word inside another: {origin}.",
        advice="Ask the user whether to send this text, or send one in other words.",
        origins=(*origins, origin),
    )


def _is_own_text(content: list[CallArgument], turn: TurnReadings) -> bool:
    """Return True if the text is the user's, apart from a greeting and the like."""
    words = (word for argument in content for word in words_of(normalize(str(argument.value))))
    unknown = turn.words.unsaid(words, most=_FREE_WORDS + 1)
    return len(unknown) <= _FREE_WORDS and unknown <= _SAYS_NOTHING


def _private_outside(
    tool: ToolFacts, turn: TurnReadings, origins: tuple[ValueOrigin, ...]
) -> GuardVerdict:
    private = next(reading.tool for reading in turn.readings if reading.private)
    foreign = next(reading.tool for reading in turn.readings if reading.foreign)
    return GuardVerdict(
        asks=True,
        cause="private_outside",
        reason=(
            f"{tool.name} sends text outside in a turn that has read private data ({private}) and "
            f"texts of strangers ({foreign})."
        ),
        advice="Ask the user to approve what is sent, or send only what the message says itself.",
        origins=origins,
    )


def _judge_read(tool: ToolFacts, values: list[CallArgument], turn: TurnReadings) -> GuardVerdict:
    """Ask before a URL that nobody wrote is opened, once private data and texts were read.

    So does a stranger's URL that gets private data beside it.
    """
    if not (turn.has_private and turn.has_text):
        return RUNS
    # A search of one's own mail asks nobody outside.
    away = (tool.reaches_outside or tool.returns_foreign) and not tool.reads_private
    for argument in values:
        for part in _links_in(argument, away=away):
            origin = _origin(argument, part, tool, turn)
            # The words of an answer can spell any URL.
            if origin.source == "read" and not turn.has_whole(part):
                origin = replace(origin, source="model", tool="", where="")
            beside = [two for two in values if two is not argument and _is_private(two, turn)]
            if origin.source == "model" or (origin.source == "read" and away and beside):
                return _composed_url(origin)
    return RUNS


def _composed_url(origin: ValueOrigin) -> GuardVerdict:
    return GuardVerdict(
        asks=True,
        cause="composed_url",
        reason=f"Opening a URL can send data: {origin}, and private data was read.",
        advice="Ask the user for the URL, or open one that an answer contains.",
        origins=(origin,),
    )


_LINKS = word_set("address domain endpoint host hostname href link page site uri url website")


def _links_in(argument: CallArgument, *, away: bool) -> list[str]:
    """Return the URLs and hosts of a value; `away`: its tool asks somebody outside."""
    if not isinstance(argument.value, str):
        return []
    text, name = argument.value, argument_words(argument.path.rpartition(".")[2])
    if away or "://" in text or text.startswith("www.") or {*map(singular, name)} & _LINKS:
        return [part for part in destinations_in(text) if "@" not in part or "://" in part]
    return []
