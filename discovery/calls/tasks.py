"""Celery tasks and signals of calls, in the worker that holds the connections."""

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down

from acl.platform.garbage_collection import freeze_loaded_objects
from acl.platform.jobs.task_names import SWEEP_CALLS
from discovery.calls._audience import running_calls
from discovery.calls._sweeper import sweep
from discovery.calls.channel import ChannelListener
from discovery.calls.listener import Listener
from discovery.calls.state import send_call

_listener = Listener()
_clients = ChannelListener(running_calls.hear)


@shared_task(name=SWEEP_CALLS)  # type: ignore[untyped-decorator]
def sweep_calls() -> None:
    """Sweep stale calls and send overdue ones again."""
    for pk in sweep():
        send_call(pk)


@worker_ready.connect(dispatch_uid="pegboard-calls")  # type: ignore[untyped-decorator]
def start_listener(**_: object) -> None:
    """Start the call listener with the worker."""
    freeze_loaded_objects()
    _clients.start()
    _listener.start()


@worker_shutting_down.connect(dispatch_uid="pegboard-calls")  # type: ignore[untyped-decorator]
def stop_listener(**_: object) -> None:
    """Stop taking calls; running ones finish before the connections close."""
    _listener.stop()
    _clients.stop()
