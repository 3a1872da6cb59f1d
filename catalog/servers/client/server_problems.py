"""Reasons why a server could not be used, each with a message that says what to do."""

from dataclasses import dataclass
from enum import StrEnum
from math import ceil

from django.utils.translation import gettext, gettext_noop

from catalog.formats.descriptors import JSONObject
from catalog.formats.secret_redaction import redact_text
from catalog.formats.text_cleanup import clean_text


class Reason(StrEnum):
    """Reason codes for APIs, metrics and tests."""

    NOT_ALLOWED = "not_allowed"
    NOT_CONFIRMED = "not_confirmed"
    CANNOT_START = "cannot_start"
    FILES_CHANGED = "files_changed"
    CRASHED = "crashed"
    NOT_REACHABLE = "not_reachable"
    SIGN_IN_NEEDED = "sign_in_needed"
    TOKEN_UNAVAILABLE = "token_unavailable"  # noqa: S105 - a code
    SCOPE_NEEDED = "scope_needed"
    SCOPE_REFUSED = "scope_refused"
    NO_ANSWER = "no_answer"
    WRONG_ANSWER = "wrong_answer"
    REFUSED = "refused"
    NOT_PERMITTED = "not_permitted"
    RATE_LIMITED = "rate_limited"
    ASKS_TO_WAIT = "asks_to_wait"
    TOO_LARGE = "too_large"
    FLOODING = "flooding"
    TOO_MUCH_MEMORY = "too_much_memory"
    TOO_MANY_PROCESSES = "too_many_processes"
    TOO_MUCH_DISK = "too_much_disk"
    NO_CELL = "no_cell"
    ASKS_BACK = "asks_back"
    BUSY = "busy"
    RESTING = "resting"
    STOPPED = "stopped"
    CHANGED = "changed"


# English, for models, APIs and rows; pages translate them.
WORDS = {
    Reason.NOT_ALLOWED: gettext_noop(
        "Pegboard may not use this server. An admin can allow its host or launcher."
    ),
    Reason.NOT_CONFIRMED: gettext_noop(
        "This server was imported and is not confirmed yet. An admin confirms it on its page "
        "under Integrations."
    ),
    Reason.CANNOT_START: gettext_noop(
        "The server could not be started. Check that its command is installed."
    ),
    Reason.FILES_CHANGED: gettext_noop(
        "The server's files changed since installation, so it was not started. Install it again."
    ),
    Reason.CRASHED: gettext_noop(
        "The server exited unexpectedly. Check its log; another version may work."
    ),
    Reason.NOT_REACHABLE: gettext_noop(
        "The server could not be reached. Check its address, and that it is running."
    ),
    Reason.SIGN_IN_NEEDED: gettext_noop(
        "The server needs a sign-in. Set its secrets, or connect the account again."
    ),
    Reason.TOKEN_UNAVAILABLE: gettext_noop(
        "The authorization server does not give a token at the moment. Nothing has been run. Try "
        "again later."
    ),
    Reason.SCOPE_NEEDED: gettext_noop(
        "The server needs more permissions than the account has granted. Connect the account "
        "again to grant them:"
    ),
    Reason.SCOPE_REFUSED: gettext_noop(
        "The account lacks permissions that this tool needs, and signing in again would not "
        "help. Ask the server's operator to allow them:"
    ),
    Reason.NO_ANSWER: gettext_noop(
        "The server did not respond in time. Try again, or restart the server."
    ),
    Reason.WRONG_ANSWER: gettext_noop(
        "The response is not valid MCP. Check the server's address and version."
    ),
    Reason.REFUSED: gettext_noop("The server refused the request. Its message says why."),
    Reason.NOT_PERMITTED: gettext_noop(
        "The server does not let this account use the tool. Check the account's permissions, or "
        "its secrets."
    ),
    Reason.RATE_LIMITED: gettext_noop(
        "The server limits how often it is called. Nothing has been run. Try again later."
    ),
    Reason.ASKS_TO_WAIT: gettext_noop(
        "The server is not available at the moment, and says when it will be. Try again then."
    ),
    Reason.TOO_LARGE: gettext_noop("The response is too large. Request less data."),
    Reason.FLOODING: gettext_noop(
        "The server sent too many unrequested messages and was stopped. Tell its publisher."
    ),
    Reason.TOO_MUCH_MEMORY: gettext_noop("The server exceeded the memory limit and was stopped."),
    Reason.TOO_MANY_PROCESSES: gettext_noop(
        "The server exceeded the process limit and was stopped."
    ),
    Reason.TOO_MUCH_DISK: gettext_noop(
        "The server filled its folder beyond the limit and was stopped. Install it again, or free "
        "its folder."
    ),
    Reason.NO_CELL: gettext_noop(
        "Programs may run only in a sandbox (PEGBOARD_CELL=required), and this machine cannot make "
        "one. An operator must allow namespaces."
    ),
    Reason.ASKS_BACK: gettext_noop(
        "The server asked for input from a person, which Pegboard does not support."
    ),
    Reason.BUSY: gettext_noop(
        "The server has reached its limit of concurrent calls. Try again in a moment."
    ),
    Reason.RESTING: gettext_noop(
        "The server failed several times in a row. Pegboard waits before it tries again."
    ),
    Reason.STOPPED: gettext_noop("The connection was closed."),
    Reason.CHANGED: gettext_noop(
        "The tool's definition changed since it was approved. An admin must review it first."
    ),
}
_MOST_CHARACTERS = 500


class ServerProblemError(Exception):
    """A server could not be used. `sent` means that the call may have been executed.

    `error` is the server's own JSON-RPC error, for clients that speak MCP.
    """

    def __init__(
        self,
        reason: Reason,
        detail: str = "",
        *,
        sent: bool = False,
        error: JSONObject | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(WORDS[reason])
        self.reason = reason
        # The end of a server's message, without hidden characters and secrets.
        end = detail.strip()[-4 * _MOST_CHARACTERS :]
        lines = (redact_text(clean_text(line).text) for line in end.splitlines())
        self.detail = "\n".join(line for line in lines if line.strip())[-_MOST_CHARACTERS:]
        self.sent = sent
        self.error = error
        self.retry_after = retry_after  # seconds, as the server said

    def after_sending(self) -> "ServerProblemError":
        """Return the same problem for a sent call, whose outcome is unknown."""
        return ServerProblemError(
            self.reason, self.detail, sent=True, error=self.error, retry_after=self.retry_after
        )


class StillLimitedError(ServerProblemError):
    """Refusal of a request, unsent, because of a limit that an earlier one met."""


# Problems after which nothing is sent until the time that the server said.
LIMITS = frozenset({Reason.RATE_LIMITED, Reason.ASKS_TO_WAIT})


def limited(
    reason: Reason,
    retry_after: float | None,
    kind: type[ServerProblemError] = ServerProblemError,
) -> ServerProblemError:
    """Return a problem that says when the server may be called again."""
    detail = "" if retry_after is None else f"It may be called again in {ceil(retry_after):,} s."
    return kind(reason, detail, retry_after=retry_after)


# Short labels of the reasons for which a server could not be used, for pages.

LABELS = {
    Reason.NOT_ALLOWED: gettext_noop("Not allowed"),
    Reason.NOT_CONFIRMED: gettext_noop("Not confirmed"),
    Reason.CANNOT_START: gettext_noop("Could not start"),
    Reason.FILES_CHANGED: gettext_noop("Files changed"),
    Reason.CRASHED: gettext_noop("Crashed"),
    Reason.NOT_REACHABLE: gettext_noop("Unreachable"),
    Reason.SIGN_IN_NEEDED: gettext_noop("Sign-in needed"),
    Reason.TOKEN_UNAVAILABLE: gettext_noop("No token at the moment"),
    Reason.SCOPE_NEEDED: gettext_noop("More permissions needed"),
    Reason.SCOPE_REFUSED: gettext_noop("Permissions missing"),
    Reason.NO_ANSWER: gettext_noop("Timed out"),
    Reason.WRONG_ANSWER: gettext_noop("Invalid response"),
    Reason.REFUSED: gettext_noop("Refused by the server"),
    Reason.NOT_PERMITTED: gettext_noop("Not permitted"),
    Reason.RATE_LIMITED: gettext_noop("Rate limited"),
    Reason.ASKS_TO_WAIT: gettext_noop("Asked to wait"),
    Reason.TOO_LARGE: gettext_noop("Response too large"),
    Reason.FLOODING: gettext_noop("Too many messages"),
    Reason.TOO_MUCH_MEMORY: gettext_noop("Too much memory"),
    Reason.TOO_MANY_PROCESSES: gettext_noop("Too many processes"),
    Reason.TOO_MUCH_DISK: gettext_noop("Too much disk space"),
    Reason.NO_CELL: gettext_noop("No sandbox"),
    Reason.ASKS_BACK: gettext_noop("Asked for input"),
    Reason.BUSY: gettext_noop("Busy"),
    Reason.RESTING: gettext_noop("Paused after failures"),
    Reason.STOPPED: gettext_noop("Connection closed"),
    Reason.CHANGED: gettext_noop("Definition changed"),
}


def label_problem(code: str) -> str:
    """Return the label of a reason; a code of another release is spelled out."""
    if code in set(Reason):
        return gettext(LABELS[Reason(code)])
    return code.replace("_", " ").capitalize()


# Classes of failures: whose each is, and what follows from that. The one place that says so.
#
# A state of an integration is everybody's, so only evidence about the server changes it: never a
# caller's argument, an answer that was too large or of an unexpected kind, or a person's own
# account.


class Owner(StrEnum):
    """The owner of a failure: who can mend it, and whom it concerns."""

    CALLER = "caller"
    PERSON = "person"
    TOOL = "tool"
    SERVER = "server"
    NETWORK = "network"
    PEGBOARD = "pegboard"


@dataclass(frozen=True, slots=True)
class FailureClass:
    """Consequences of a failure.

    `of_call` and `of_check`: it becomes the integration's state where a call, or a check, failed
    so. `counts`: the circuit breaker counts it. `repeated`: a read is sent once more. `unsent`: the
    server did not begin, so anything is. `answered`: the server answered, so the outcome is known.
    `tells`: the caller reads the server's own words.
    """

    owner: Owner
    of_call: bool = False
    of_check: bool = False
    counts: bool = False
    repeated: bool = False
    unsent: bool = False
    answered: bool = False
    tells: bool = False


_DOWN = FailureClass(Owner.SERVER, of_call=True, of_check=True, counts=True)
_SETTING = FailureClass(Owner.PEGBOARD, of_call=True, of_check=True)
_ANSWER = FailureClass(Owner.TOOL, answered=True, tells=True)
_LIST_ONLY = FailureClass(Owner.TOOL, of_check=True)
_MOMENT = FailureClass(Owner.PEGBOARD)

FAILURES: dict[Reason, FailureClass] = {
    Reason.NOT_ALLOWED: _SETTING,
    Reason.NOT_CONFIRMED: FailureClass(Owner.PERSON),
    Reason.CANNOT_START: _DOWN,
    Reason.FILES_CHANGED: _SETTING,
    Reason.CRASHED: FailureClass(
        Owner.SERVER, of_call=True, of_check=True, counts=True, repeated=True
    ),
    Reason.NOT_REACHABLE: FailureClass(
        Owner.NETWORK, of_call=True, of_check=True, counts=True, repeated=True
    ),
    # The credential is refused, which every call of the account would meet; no outage, though.
    Reason.SIGN_IN_NEEDED: FailureClass(Owner.PERSON, of_call=True, of_check=True),
    Reason.TOKEN_UNAVAILABLE: FailureClass(Owner.NETWORK),
    Reason.SCOPE_NEEDED: _ANSWER,
    Reason.SCOPE_REFUSED: _ANSWER,
    # A call takes as long as its arguments make it. The check that follows says how the server is.
    Reason.NO_ANSWER: _LIST_ONLY,
    Reason.WRONG_ANSWER: FailureClass(Owner.TOOL, of_check=True, tells=True),
    Reason.REFUSED: _ANSWER,
    Reason.NOT_PERMITTED: _ANSWER,
    Reason.RATE_LIMITED: FailureClass(Owner.SERVER, unsent=True, answered=True, tells=True),
    Reason.ASKS_TO_WAIT: FailureClass(Owner.SERVER, of_check=True, repeated=True, tells=True),
    Reason.TOO_LARGE: FailureClass(Owner.CALLER, of_check=True),
    Reason.FLOODING: _DOWN,
    Reason.TOO_MUCH_MEMORY: _DOWN,
    Reason.TOO_MANY_PROCESSES: _DOWN,
    Reason.TOO_MUCH_DISK: _DOWN,
    Reason.NO_CELL: _SETTING,
    Reason.ASKS_BACK: FailureClass(Owner.CALLER, answered=True),
    Reason.BUSY: FailureClass(Owner.PEGBOARD, repeated=True),
    Reason.RESTING: _MOMENT,
    Reason.STOPPED: FailureClass(Owner.NETWORK, of_check=True, repeated=True),
    Reason.CHANGED: FailureClass(Owner.TOOL),
}


def failure_class(reason: str) -> FailureClass:
    """Return what follows from a failure; nothing does from a code of another release."""
    return FAILURES.get(Reason(reason), _MOMENT) if reason in set(Reason) else _MOMENT
