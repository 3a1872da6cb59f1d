"""Questions that a server asks during a call, as the call's row keeps them.

An answer leaves its state and nothing else. A question's words are kept if the client was asked,
for as long as the group keeps the arguments of its calls.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from acl.audit.recorder import record
from catalog.formats.descriptors import JSONObject
from discovery.calls.queries import target_of
from discovery.models import Call

Kind = Literal["elicitation", "sampling", "roots"]
# `asked`: the answer comes with another call. `withheld`: the client was not asked.
QuestionState = Literal[
    "asked", "accepted", "declined", "cancelled", "answered", "failed", "unanswered", "withheld"
]
MOST_NOTED = 40  # of a call; a server may go on when nobody is asked any more
_LONGEST, _MOST_FIELDS = 500, 20
_ACTIONS: dict[str, QuestionState] = {
    "accept": "accepted",
    "decline": "declined",
    "cancel": "cancelled",
}


def question_of(method: str) -> JSONObject:
    """Return the record of a question that nobody was asked so far."""
    return {"kind": method.partition("/")[0], "state": "withheld"}


def words_of(params: Mapping[str, Any]) -> JSONObject:
    """Return what a person is shown of a question: its text, its fields, the host of its page."""
    parts = {
        "text": str(params.get("message") or "")[:_LONGEST],
        "asks_for": [name[:_LONGEST] for name in list(fields_of(params) or {})[:_MOST_FIELDS]],
        "host": _host_of(str(params.get("url") or "")),
    }
    return {name: part for name, part in parts.items() if part}


def fields_of(params: Mapping[str, Any]) -> JSONObject | None:
    """Return a form's fields by name; None for a form that is none, which a server may send."""
    schema = params.get("requestedSchema") or {}
    fields = (schema.get("properties") or {}) if isinstance(schema, dict) else None
    return fields if isinstance(fields, dict) else None


def _host_of(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def state_of(answer: Mapping[str, Any]) -> QuestionState:
    """Return the state of a question by its client's answer, a `result` or an `error`."""
    result = answer.get("result")
    if isinstance(result, Mapping):
        action = result.get("action")
        return "answered" if action is None else _ACTIONS.get(str(action), "failed")
    return "failed"


def asked_by_result(required: Mapping[str, Any] | None) -> list[JSONObject]:
    """Return the questions of a result that requires input, in the newer generation."""
    requests = (required or {}).get("inputRequests") or {}
    return [
        {
            **question_of(question["method"]),
            "state": "asked",
            **words_of(question.get("params") or {}),
        }
        for question in list(requests.values())[:MOST_NOTED]
    ]


def withheld_by_result(required: Mapping[str, Any] | None) -> list[JSONObject]:
    """Return the questions of such a result where the client was not asked: without words."""
    requests = (required or {}).get("inputRequests") or {}
    return [question_of(question["method"]) for question in list(requests.values())[:MOST_NOTED]]


def answered_with_call(dialogue: JSONObject | None) -> list[JSONObject]:
    """Return the questions of an earlier call that this one brings the answers to."""
    responses = ((dialogue or {}).get("answers") or {}).get("inputResponses") or {}
    return [
        {"kind": _kind_of(answer), "state": state_of({"result": answer})}
        for answer in list(responses.values())[:MOST_NOTED]
        if isinstance(answer, dict)
    ]


def _kind_of(answer: JSONObject) -> Kind:
    if "action" in answer:
        return "elicitation"
    return "roots" if "roots" in answer else "sampling"


def without_words(questions: Iterable[JSONObject]) -> list[JSONObject]:
    """Return kinds and states alone."""
    return [
        {"kind": question.get("kind", ""), "state": question.get("state", "")}
        for question in questions
    ]


def record_accepted(call: Call) -> None:
    """Add an audit entry for what a person has let a server have during the call."""
    accepted = [question for question in call.questions or () if question["state"] == "accepted"]
    if not accepted:
        return
    textless = [
        {name: part for name, part in question.items() if name != "text"} for question in accepted
    ]
    details = {"call": str(call.pk), "questions": textless}
    record(by=call.user, action="call.question_accepted", target=target_of(call), details=details)


KINDS, STATES = get_args(Kind), get_args(QuestionState)
