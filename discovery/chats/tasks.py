"""Celery tasks of the bench, in the outgoing worker."""

from celery import shared_task
from django.conf import settings
from django.db.models.functions import Now

from acl.platform.jobs import move, overdue, send_again
from acl.platform.task_names import ANSWER_ADVICE, ASK_MODEL, SWEEP_CHATS
from discovery.chats.model_sender import answer_advice, send_request
from discovery.chats.problems import ChatProblem
from discovery.models import ModelRequest

# The sweeper of chats: sends lost requests again, and gives up.

State = ModelRequest.State
# A request costs money, so one whose worker died is sent once more and no further.
MOST_ATTEMPTS = 2
_GRACE_SECONDS = 60
_MOST_AT_ONCE = 1_000


def sweep() -> None:
    """Do all steps."""
    _resolve_lost()
    send_again(ASK_MODEL, ModelRequest.objects.filter(overdue(), state=State.QUEUED))


def _resolve_lost() -> None:
    longest = settings.PEGBOARD_CHAT_SECONDS + _GRACE_SECONDS
    lost = ModelRequest.objects.filter(overdue(at_least=longest), state=State.RUNNING)
    for row in lost.order_by("pk")[:_MOST_AT_ONCE]:
        if row.attempts < MOST_ATTEMPTS:
            move(row, State.QUEUED, unchanged=("state", "attempts"))
        else:
            ended = {"ended_at": Now(), "reason": ChatProblem.LOST, "body": ""}
            move(row, State.FAILED, unchanged=("state", "attempts"), **ended)


@shared_task(name=ASK_MODEL)  # type: ignore[untyped-decorator]
def ask_model(request_id: int) -> None:
    """Send a request to its model once."""
    send_request(request_id)


@shared_task(name=ANSWER_ADVICE, ignore_result=True)  # type: ignore[untyped-decorator]
def advise(digest: str) -> None:
    """Answer a question about choosing tools; whoever asked waits a moment and no longer."""
    answer_advice(digest)


@shared_task(name=SWEEP_CHATS)  # type: ignore[untyped-decorator]
def sweep_chats() -> None:
    """Send lost requests again, and delete old chats."""
    sweep()
