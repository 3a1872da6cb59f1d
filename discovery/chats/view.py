"""A chat as its owner sees it: each message's steps and figures, against those of all tools."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256

from acl.platform.strict_json import write_json
from catalog.formats.descriptors import JSONObject
from discovery.chats.apps import has_app
from discovery.chats.problems import describe_problem
from discovery.models import Call, Chat, ChatMessage, ModelRequest
from discovery.prices.model import Price, list_prices, price_of

Purpose = ModelRequest.Purpose
_LONGEST_ARGUMENTS = 2_000


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A wanted call, as the model wrote it. `call` is None if it was not made."""

    name: str
    arguments: list[str]
    call: Call | None
    problem: str

    @property
    def has_app(self) -> bool:
        """Return True if an app of its server can show the result."""
        return has_app(self.call)


@dataclass(frozen=True, slots=True)
class Spending:
    """Tokens, and US dollars where the model's price is known."""

    read: int
    written: int
    cost: Decimal | None


@dataclass(frozen=True, slots=True)
class ChatStep:
    """A request with its answer."""

    request: ModelRequest
    calls: tuple[AskedCall, ...]
    spent: Spending
    problem: str

    @property
    def lines(self) -> list[str]:
        """Return the answer's text by lines, each to be shown with what is hidden in it."""
        return _lines_of(self.request.text)

    @property
    def first_choice(self) -> str:
        """Return the names of the tools that the answer asks for, or ""."""
        return ", ".join(dict.fromkeys(asked_call.name for asked_call in self.calls))

    @property
    def is_answered(self) -> bool:
        """Return True if there is an answer."""
        return self.request.state == ModelRequest.State.ANSWERED


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message with its steps. `comparison` is the same message with all tools."""

    message: ChatMessage
    steps: tuple[ChatStep, ...]
    comparison: ChatStep | None
    spent: Spending
    problem: str

    @property
    def lines(self) -> list[str]:
        """Return the message's text by lines."""
        return _lines_of(self.message.text)

    @property
    def names(self) -> list[str]:
        """Return the full names of the tools that were offered."""
        return sorted(offer["full_name"] for offer in self.message.names.values())

    @property
    def waiting(self) -> list[Call]:
        """Return the calls that wait for approval."""
        calls = [
            asked_call.call for step in self.steps for asked_call in step.calls if asked_call.call
        ]
        return [call for call in calls if call.state == Call.State.WAITING]

    @property
    def is_active(self) -> bool:
        """Return True if the page has something to wait for."""
        compared = self.comparison
        open_request = compared is not None and compared.request.state in ModelRequest.UNDER_WAY
        return self.message.state in ChatMessage.ACTIVE or open_request


def show_messages(chat: Chat) -> list[ShownMessage]:
    """Return the chat's messages, oldest first, in four statements."""
    messages = list(chat.messages.prefetch_related("requests"))
    prices, calls = list_prices(), _calls_of(messages)
    return [_show(message, prices, calls) for message in messages]


def version_of(messages: Iterable[ShownMessage]) -> str:
    """Return a short text that changes whenever the page would."""
    states = [
        [
            message.message.state,
            [_states(step) for step in message.steps],
            _states(message.comparison),
        ]
        for message in messages
    ]
    return sha256(write_json(states).encode()).hexdigest()[:16]


def _states(step: ChatStep | None) -> list[str]:
    if step is None:
        return []
    return [step.request.state, *(call.call.state if call.call else "" for call in step.calls)]


def _calls_of(messages: Sequence[ChatMessage]) -> Mapping[str, Call]:
    entries = [
        entry for message in messages for row in message.requests.all() for entry in row.calls
    ]
    calls = Call.objects.filter(pk__in=[entry["call"] for entry in entries if entry.get("call")])
    calls = calls.select_related("capability__integration")
    return {str(call.pk): call for call in calls}


def _show(message: ChatMessage, prices: Sequence[Price], calls: Mapping[str, Call]) -> ShownMessage:
    steps = [_step(row, prices, calls) for row in message.requests.all()]
    answer_steps = tuple(step for step in steps if step.request.purpose == Purpose.ANSWER)
    others = [step for step in steps if step.request.purpose == Purpose.COMPARISON]
    compared = others[0] if others else None
    # Why the message failed, with the provider's own words where there are any.
    last = answer_steps[-1].request if answer_steps else None
    detail = last.detail if last is not None and last.reason == message.reason else ""
    return ShownMessage(
        message,
        answer_steps,
        compared,
        _sum(answer_steps),
        " ".join(filter(None, [describe_problem(message.reason), detail])),
    )


def _step(row: ModelRequest, prices: Sequence[Price], calls: Mapping[str, Call]) -> ChatStep:
    price = price_of(row.model_id, prices)
    tokens_read, tokens_written = row.tokens_read, row.tokens_written
    cost = price.cost(tokens_read=tokens_read, tokens_written=tokens_written) if price else None
    asked_calls = tuple(_asked(call, calls) for call in row.calls)
    problem = " ".join(filter(None, [describe_problem(row.reason), row.detail]))
    return ChatStep(row, asked_calls, Spending(tokens_read, tokens_written, cost), problem)


def _asked(entry: JSONObject, calls: Mapping[str, Call]) -> AskedCall:
    arguments = write_json(entry["arguments"], ensure_ascii=False, indent=1)
    lines = _lines_of(arguments[:_LONGEST_ARGUMENTS]) if entry["arguments"] else []
    call = calls.get(entry.get("call") or "")
    return AskedCall(entry["name"], lines, call, entry.get("problem") or "")


def _lines_of(text: str) -> list[str]:
    return text.replace("\r\n", "\n").split("\n") if text else []


def _sum(steps: Sequence[ChatStep]) -> Spending:
    costs = [step.spent.cost for step in steps if step.spent.cost is not None]
    return Spending(
        sum(step.spent.read for step in steps),
        sum(step.spent.written for step in steps),
        sum(costs, Decimal(0)) if costs else None,
    )
