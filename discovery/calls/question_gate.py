"""The gate for what a server asks before it goes on: in the middle of a call, or by a result.

Nobody has reviewed these texts. A question to a person must not look like an attack, ask for a
password in a form, or lead to an address without TLS; a prompt for the client's model is judged as
a skill's text. Both generations of the protocol pass here, whatever the request was.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from mcp_types import InputRequiredResult
from pydantic import ValidationError

from acl.platform.strict_json import write_json
from catalog.formats.descriptors import JSONObject
from catalog.formats.secret_redaction import is_secret_name
from catalog.servers.client.dialogue import CannotAskError
from catalog.trust.foreign_texts import HELD_BACK, must_be_held_back
from discovery.calls.call_questions import fields_of

MOST_CHARACTERS = 64 * 1024
MOST_QUESTIONS = 20  # of a call
TOO_MANY = "Nobody can be asked any more."
_NEEDED = {"sampling/createMessage": "sampling", "roots/list": "roots"}
_ELICITATION = "elicitation/create"
_OF_NOTES = frozenset({"progress", "total", "level"})  # numbers, and a word of the protocol


class Question(NamedTuple):
    """A question of a server to a client with these capabilities."""

    method: str
    params: JSONObject
    capabilities: frozenset[str]


class Check(NamedTuple):
    """A reason to refuse a question, and the words that say so."""

    words: str
    refuses: Callable[[Question], bool]


def _is_not_announced(question: Question) -> bool:
    by_address = question.method == _ELICITATION and "url" in question.params
    forms = {_ELICITATION: "elicitation.url" if by_address else "elicitation"}
    return (_NEEDED | forms).get(question.method) not in question.capabilities


def _is_too_long(question: Question) -> bool:
    return len(write_json(question.params)) > MOST_CHARACTERS


def _is_without_tls(question: Question) -> bool:
    if "url" not in question.params:
        return False
    try:
        return urlsplit(str(question.params["url"])).scheme != "https"
    except ValueError:
        return True


def _is_unreadable(question: Question) -> bool:
    return fields_of(question.params) is None


def _asks_for_secret(question: Question) -> bool:
    fields = fields_of(question.params) or {}
    return any(is_secret_name(name) or _is_secret(field) for name, field in fields.items())


def _is_secret(field: object) -> bool:
    """Return True for a field that its title or its format gives away."""
    if not isinstance(field, dict):
        return False
    title = "_".join(str(field.get("title") or "").split())
    return is_secret_name(title) or field.get("format") == "password"


def _looks_like_attack(question: Question) -> bool:
    if question.method != "sampling/createMessage":
        return must_be_held_back(question.params)
    tools, prompt = question.params.get("tools"), {**question.params, "tools": None}
    return must_be_held_back(tools) or must_be_held_back(prompt, is_prompt=True)


# In this order: later ones rely on what earlier ones have let through.
CHECKS: Mapping[str, Check] = {
    "not_announced": Check("The client cannot be asked this.", _is_not_announced),
    "too_long": Check("The question is too long.", _is_too_long),
    "without_tls": Check("Only addresses with https are passed on.", _is_without_tls),
    "unreadable": Check("The question's form cannot be read.", _is_unreadable),
    "secret": Check("Passwords and keys are not asked for in a form.", _asks_for_secret),
    "attack": Check("The question was held back: it looks like an attack.", _looks_like_attack),
}


def check_question(method: str, params: JSONObject, capabilities: frozenset[str]) -> None:
    """Raise CannotAskError unless this client can be asked this."""
    question = Question(method, params, capabilities)
    for check in CHECKS.values():
        if check.refuses(question):
            raise CannotAskError(check.words)


def admit_required(
    required: JSONObject, capabilities: frozenset[str], asker: str = ""
) -> JSONObject:
    """Return a result that requires input with its checked questions, and nothing else in it.

    Raises CannotAskError if one of them is refused: without its answer the server does not go on.
    `asker` names the server in its questions.
    """
    try:
        result = InputRequiredResult.model_validate(required, by_name=False)
    except ValidationError:
        raise CannotAskError("The server's questions cannot be read.") from None
    questions: JSONObject = {}
    for name, asked in (result.input_requests or {}).items():
        dumped = asked.model_dump(by_alias=True, mode="json", exclude_none=True)
        params = dumped.get("params") or {}
        params.pop("_meta", None)
        check_question(asked.method, params, capabilities)
        questions[name] = dumped | ({"params": name_asker(params, asker)} if params else {})
    if len(questions) > MOST_QUESTIONS:
        raise CannotAskError(TOO_MANY)
    state = {} if result.request_state is None else {"requestState": result.request_state}
    asking = {"inputRequests": questions} if questions else {}
    return {"resultType": "input_required", **asking, **state}


def admit_note(message: JSONObject) -> JSONObject:
    """Return a notification of progress or of the log, without a text that must be held back."""
    params = message["params"]
    if len(write_json(params)) <= MOST_CHARACTERS and not must_be_held_back(params, is_prompt=True):
        return message
    kept = {name: value for name, value in params.items() if name in _OF_NOTES}
    words = {"message" if "progress" in params else "data": HELD_BACK}
    return {**message, "params": kept | words}


def name_asker(params: JSONObject, server: str) -> JSONObject:
    """Say in a question whose it is, where the client knows Pegboard only."""
    if not server or "message" not in params:
        return params
    return {**params, "message": f"{server}: {params['message']}"}
