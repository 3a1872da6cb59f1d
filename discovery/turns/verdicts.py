"""Verdicts on turns: reported, or inferred from what was called."""

from typing import NamedTuple

from discovery.models import Outcome

Status = Outcome.Status
SCORES = {Status.SUCCESS: 1.0, Status.PARTIAL: 0.5, Status.FAILED: 0.0}


class Verdict(NamedTuple):
    """A status, its score from 0 to 1, and whether it was reported or inferred."""

    status: Outcome.Status
    score: float
    source: Outcome.Source = Outcome.Source.REPORTED


def verdict_of_status(status: str) -> Verdict:
    """Return the verdict of a status, with its default score."""
    known = Status(status)
    return Verdict(known, SCORES[known])


def verdict_of_score(score: float) -> Verdict:
    """Return the verdict of a score, with the nearest status; the better one if two are as near."""
    nearest = min(SCORES, key=lambda status: (abs(SCORES[status] - score), -SCORES[status]))
    return Verdict(nearest, score)


def infer_verdict(*, called: int, offered: int, searches: int) -> Verdict:
    """Infer the verdict from how many names were called, how many of them had been offered, and how
    often the model searched for tools."""
    # Calling an offered tool means the selection was right. Calling another one means the model
    # found it in some other way. A search without a call found nothing; with neither, no tool was
    # needed.
    if offered:
        status = Status.SUCCESS
    elif called:
        status = Status.PARTIAL
    else:
        status = Status.FAILED if searches else Status.SUCCESS
    return Verdict(status, SCORES[status], Outcome.Source.WORKED_OUT)
