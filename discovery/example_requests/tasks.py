"""Celery tasks of example requests, in the outgoing worker."""

from celery import shared_task
from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Now

from acl.platform.jobs import move, overdue, send_again
from acl.platform.task_names import ASK_FOR_EXAMPLES, MEASURE_EXAMPLES, SWEEP_EXAMPLES, send_now
from catalog.models import Capability
from discovery.advice.questions import example_question, read_texts
from discovery.chats.model_sender import ModelFailedError, ask_question
from discovery.chats.problems import ChatProblem
from discovery.example_requests.proposals import proposed_texts
from discovery.models import ExampleRun

State = ExampleRun.State
MOST_ATTEMPTS = 5
_GRACE_SECONDS = 60


@shared_task(name=ASK_FOR_EXAMPLES)  # type: ignore[untyped-decorator]
def answer_for_examples(pk: int) -> None:
    """Ask a run's model about one tool after the other, and store what it proposes for each.

    A run whose worker died goes on with the tool it was at.
    """
    row = ExampleRun.objects.select_related("model").filter(pk=pk).first()
    if row is None or row.state not in (State.QUEUED, State.RUNNING):
        return
    attempts = row.attempts + 1
    columns = {"attempts": attempts, "sent_at": Now()}
    if not move(row, State.RUNNING, unchanged=("state", "attempts"), **columns):
        return
    row.attempts = attempts
    try:
        while row.tools:
            if not _propose(row):
                return
    except ModelFailedError as failed:
        ended = {"reason": failed.problem, "detail": failed.detail}
        move(row, State.FAILED, unchanged=("state", "attempts"), **ended)
        return
    if move(row, State.MEASURING, unchanged=("state", "attempts"), sent_at=Now()):
        send_now(MEASURE_EXAMPLES, row.pk)


def _propose(row: ExampleRun) -> bool:
    """Ask about a run's next tool. False if another worker has the run by now."""
    key, *rest = row.tools
    tool = Capability.objects.select_related("integration").filter(pk=key).first()
    tokens = 0
    if tool is not None:
        seconds = settings.PEGBOARD_CHAT_SECONDS
        answer = ask_question(row.model, example_question(tool), seconds=seconds)
        tokens = answer.tokens_read + answer.tokens_written
        if texts := proposed_texts(read_texts(answer.text)):
            row.proposals = {**row.proposals, str(key): {"texts": texts}}
    row.tools, row.tokens = rest, row.tokens + tokens
    same = ExampleRun.objects.filter(pk=row.pk, state=row.state, attempts=row.attempts)
    columns = {"tools": rest, "proposals": row.proposals, "tokens": row.tokens}
    return bool(same.update(sent_at=Now(), **columns))


@shared_task(name=SWEEP_EXAMPLES)  # type: ignore[untyped-decorator]
def sweep_examples() -> None:
    """Send lost runs again: one goes on with the tool it was at, and fails in the end."""
    # The longest time without a sign of life is one question.
    is_lost = overdue(at_least=settings.PEGBOARD_CHAT_SECONDS + _GRACE_SECONDS)
    asking = ExampleRun.objects.filter(is_lost, Q(state__in=(State.QUEUED, State.RUNNING)))
    ended = {"state": State.FAILED, "reason": ChatProblem.NOT_REACHED}
    asking.filter(attempts__gte=MOST_ATTEMPTS).update(**ended)
    send_again(ASK_FOR_EXAMPLES, asking)
    measuring = ExampleRun.objects.filter(overdue(), state=State.MEASURING)
    send_again(MEASURE_EXAMPLES, measuring)
