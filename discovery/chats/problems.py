"""Reasons for which a chat model gives no answer, and what to do about each, in words."""

from enum import StrEnum

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop


class ChatProblem(StrEnum):
    """Reasons, as they are stored. Three are codes of outgoing requests."""

    KEY_REFUSED = "key_refused"
    KEY_UNAVAILABLE = "key_unavailable"
    UNKNOWN_MODEL = "unknown_model"
    RATE_LIMITED = "rate_limited"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    MALFORMED = "malformed"
    NOT_ALLOWED = "endpoint_not_allowed"
    NOT_REACHED = "endpoint_not_reachable"
    TOO_LARGE = "answer_too_large"
    NO_MODEL = "no_model"
    CANCELLED = "cancelled"
    LOST = "lost"
    TOO_MANY_STEPS = "too_many_steps"
    TOO_LONG = "too_long"
    TOKENS_USED_UP = "tokens_used_up"
    TOO_MANY_TOOLS = "too_many_tools"


_WORDS = {
    ChatProblem.KEY_REFUSED: gettext_noop(
        "The provider refused the key. An admin can set it again."
    ),
    ChatProblem.KEY_UNAVAILABLE: gettext_noop(
        "The key cannot be opened. An admin can set it again."
    ),
    ChatProblem.UNKNOWN_MODEL: gettext_noop(
        "The provider does not know this model, or the address is wrong."
    ),
    ChatProblem.RATE_LIMITED: gettext_noop(
        "The provider's rate limit is reached. Try again in a moment."
    ),
    ChatProblem.REFUSED: gettext_noop("The provider refused the request."),
    ChatProblem.UNAVAILABLE: gettext_noop("The provider is unavailable. Try again in a moment."),
    ChatProblem.MALFORMED: gettext_noop("The provider's answer cannot be read."),
    ChatProblem.NOT_ALLOWED: gettext_noop(
        "The model's address is not allowed. An admin can use a public https address, or allow "
        "its host in PEGBOARD_ALLOWED_PRIVATE_HOSTS."
    ),
    ChatProblem.NOT_REACHED: gettext_noop(
        "The model could not be reached or did not answer in time."
    ),
    ChatProblem.TOO_LARGE: gettext_noop("The provider's answer is too large."),
    ChatProblem.NO_MODEL: gettext_noop(
        "The model of this chat was removed, or you may no longer use it."
    ),
    ChatProblem.CANCELLED: gettext_noop("You cancelled this message."),
    ChatProblem.LOST: gettext_noop("The request was lost. Try again."),
    ChatProblem.TOO_MANY_STEPS: gettext_noop(
        "The model kept calling tools without an answer, so it was stopped."
    ),
    ChatProblem.TOO_LONG: gettext_noop(
        "This chat is too long for another request. Begin a new one."
    ),
    ChatProblem.TOKENS_USED_UP: gettext_noop(
        "You have reached today's token limit for this model. It resets at 00:00 UTC."
    ),
    ChatProblem.TOO_MANY_TOOLS: gettext_noop(
        "All your tools are more than this model takes at once, so nothing was sent."
    ),
}


def describe_problem(reason: str) -> str:
    """Return the reason in the reader's language; "" without one."""
    return _(_WORDS[ChatProblem(reason)]) if reason in _WORDS else ""
