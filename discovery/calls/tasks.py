"""Calls, in the process that keeps the connections."""

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down

from acl.platform.garbage_collection import settle
from acl.platform.jobs.task_names import SWEEP_CALLS
from discovery.calls.call_listener import Listener
from discovery.calls.call_state import send_call
from discovery.calls.call_sweeper import sweep

_listener = Listener()


@shared_task(name=SWEEP_CALLS)  # type: ignore[untyped-decorator]
def sweep_calls() -> None:
    """Look after calls that nobody moves."""
    for pk in sweep():
        send_call(pk)


@worker_ready.connect(dispatch_uid="pegboard-calls")  # type: ignore[untyped-decorator]
def begin_to_listen(**_: object) -> None:
    """From now on calls are carried out here."""
    settle()
    _listener.start()


@worker_shutting_down.connect(dispatch_uid="pegboard-calls")  # type: ignore[untyped-decorator]
def take_no_more(**_: object) -> None:
    """What is under way is finished before the connections close."""
    _listener.stop()
