"""Celery tasks and signals of requests, in the worker that holds the connections."""

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down

from acl.platform.task_names import SWEEP_REQUESTS
from discovery.calls.server_requests.forwarding import QUEUE
from discovery.calls.server_requests.watches import server_watches
from discovery.calls.server_requests.worker import start_request, sweep
from discovery.calls.tasks import Listener

_listener = Listener(start_request, QUEUE)


@shared_task(name=SWEEP_REQUESTS)  # type: ignore[untyped-decorator]
def sweep_requests() -> None:
    """Sweep requests to servers that nobody waits for any more."""
    sweep()


@worker_ready.connect(dispatch_uid="pegboard-requests")  # type: ignore[untyped-decorator]
def start_listener(**_: object) -> None:
    """Start the listener with the worker."""
    server_watches.start()
    _listener.start()


@worker_shutting_down.connect(dispatch_uid="pegboard-requests")  # type: ignore[untyped-decorator]
def stop_listener(**_: object) -> None:
    """Stop taking requests; running ones finish before the connections close."""
    _listener.stop()
    server_watches.stop()
