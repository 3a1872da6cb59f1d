"""What a turn was worth: from what is told of it, or else from what was called."""

from typing import NamedTuple

from discovery.models import Outcome

Status = Outcome.Status
SCORES = {Status.SUCCESS: 1.0, Status.PARTIAL: 0.5, Status.FAILED: 0.0}


class Verdict(NamedTuple):
    """A status, its score from 0 to 1, and whether somebody said so."""

    status: Outcome.Status
    score: float
    source: Outcome.Source = Outcome.Source.REPORTED


def verdict_of_status(status: str) -> Verdict:
    """The status with the score that it stands for."""
    known = Status(status)
    return Verdict(known, SCORES[known])


def verdict_of_score(score: float) -> Verdict:
    """The score with the status that is nearest to it, the better one in the middle."""
    nearest = min(SCORES, key=lambda status: (abs(SCORES[status] - score), -SCORES[status]))
    return Verdict(nearest, score)


def work_out(*, called: int, offered: int, looked: int) -> Verdict:
    """The verdict by what is seen: how many names were called, how many of them had been offered,
    and how often the model looked for tools.

    Who calls what was offered has found what was needed; who calls something else found it in
    another way; who looks and then calls nothing has not; and who neither looks nor calls had no
    need to.
    """
    if offered:
        status = Status.SUCCESS
    elif called:
        status = Status.PARTIAL
    else:
        status = Status.FAILED if looked else Status.SUCCESS
    return Verdict(status, SCORES[status], Outcome.Source.WORKED_OUT)
