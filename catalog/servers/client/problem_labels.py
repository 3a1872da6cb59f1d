"""Short labels of the reasons for which a server could not be used, for pages."""

from django.utils.translation import gettext, gettext_noop

from catalog.servers.client.server_problems import Reason

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
    Reason.TOO_LARGE: gettext_noop("Response too large"),
    Reason.FLOODING: gettext_noop("Too many messages"),
    Reason.TOO_MUCH_MEMORY: gettext_noop("Too much memory"),
    Reason.TOO_MANY_PROCESSES: gettext_noop("Too many processes"),
    Reason.TOO_MUCH_DISK: gettext_noop("Too much disk space"),
    Reason.NO_CELL: gettext_noop("No cell"),
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
