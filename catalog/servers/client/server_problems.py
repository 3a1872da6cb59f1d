"""Reasons why a server could not be used, each with a message that says what to do."""

from enum import StrEnum

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
    SCOPE_NEEDED = "scope_needed"
    SCOPE_REFUSED = "scope_refused"
    NO_ANSWER = "no_answer"
    WRONG_ANSWER = "wrong_answer"
    REFUSED = "refused"
    TOO_LARGE = "too_large"
    FLOODING = "flooding"
    TOO_MUCH_MEMORY = "too_much_memory"
    TOO_MANY_PROCESSES = "too_many_processes"
    ASKS_BACK = "asks_back"
    BUSY = "busy"
    RESTING = "resting"
    STOPPED = "stopped"
    CHANGED = "changed"


WORDS = {
    Reason.NOT_ALLOWED: "Pegboard may not use it. An administrator can allow its host or launcher.",
    Reason.NOT_CONFIRMED: "It was imported, and no admin has confirmed it yet. An admin confirms "
    "it on its page under Integrations.",
    Reason.CANNOT_START: "It could not be started. Check that its command is installed.",
    Reason.FILES_CHANGED: "Its files are not those that were installed, so it was not started. "
    "Install it again.",
    Reason.CRASHED: "It ended by itself. Read its last words; another version may work.",
    Reason.NOT_REACHABLE: "It could not be reached. Check its address, and whether it runs.",
    Reason.SIGN_IN_NEEDED: "It wants a sign-in. Set its secrets, or connect the account again.",
    Reason.SCOPE_NEEDED: "It asks for more rights than the account has given. "
    "Connect the account again to grant them:",
    Reason.SCOPE_REFUSED: "The account lacks rights that this tool needs, and signing in again "
    "would not change that. Ask whoever runs the server to allow them:",
    Reason.NO_ANSWER: "It did not answer in time. Try again; if it stays silent, restart it.",
    Reason.WRONG_ANSWER: "Its answer is not MCP. Check its address and its version.",
    Reason.REFUSED: "It refused the request. Its own words say why.",
    Reason.TOO_LARGE: "Its answer is larger than Pegboard reads. Ask it for less.",
    Reason.FLOODING: "It sent more than anybody asked for, and was stopped. Tell its publisher.",
    Reason.TOO_MUCH_MEMORY: "It took more memory than a server may, and was stopped.",
    Reason.TOO_MANY_PROCESSES: "It started more processes than a server may, and was stopped.",
    Reason.ASKS_BACK: "It asks for something that only a person could answer. Pegboard cannot.",
    Reason.BUSY: "It has as many calls as it may have at once. Try again in a moment.",
    Reason.RESTING: "It failed several times in a row and is left alone for a while.",
    Reason.STOPPED: "The connection was closed.",
    Reason.CHANGED: "It says something else of the tool than was approved. An admin has to look.",
}
_MOST_CHARACTERS = 500


class ServerProblemError(Exception):
    """A server could not be used. `sent` means that the call may have been executed."""

    def __init__(self, reason: Reason, detail: str = "", *, sent: bool = False) -> None:
        super().__init__(WORDS[reason])
        self.reason = reason
        self.detail = _redact_detail(detail)
        self.sent = sent

    def after_sending(self) -> "ServerProblemError":
        """Return the same problem for a sent call, whose outcome is unknown."""
        return ServerProblemError(self.reason, self.detail, sent=True)


def _redact_detail(detail: str) -> str:
    """Return the end of a server's message, without hidden characters and secrets."""
    end = detail.strip()[-4 * _MOST_CHARACTERS :]
    lines = (redact_text(clean_text(line).text) for line in end.splitlines())
    return "\n".join(line for line in lines if line.strip())[-_MOST_CHARACTERS:]
