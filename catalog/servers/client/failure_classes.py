"""Classes of failures: whose each is, and what follows from that. The one place that says so.

A state of an integration is everybody's, so only evidence about the server changes it: never a
caller's argument, an answer that was too large or of an unexpected kind, or a person's own account.
"""

from dataclasses import dataclass
from enum import StrEnum

from catalog.servers.client.server_problems import Reason


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
