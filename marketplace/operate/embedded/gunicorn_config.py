"""gunicorn's settings, in `make run` and in the container.

gunicorn reads the names in this module. Its environment variables (WEB_CONCURRENCY,
GUNICORN_CMD_ARGS) still apply.
"""

import fcntl
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

from marketplace.operate.embedded._graceful_stop import drop_new_connections_on_shutdown

worker_class = "marketplace.operate.embedded._graceful_stop.DrainingWorker"
logger_class = "marketplace.config.logs.ServerLog"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
# Long-polling requests use threads too: discovery/calls/channel.py allows them half.
threads = 8
# The code is loaded once and shared by the workers; connections are opened after the fork.
preload_app = True
timeout = 60
graceful_timeout = 30  # longer than a request waits for a tool (PEGBOARD_CALL_WAIT_SECONDS)
keepalive = 5
sendfile = False  # sendfile would bypass the deadline for slow readers (reception.py)
control_socket_disable = True  # unused, and it would write into the home folder
when_ready = drop_new_connections_on_shutdown  # installed before workers are forked
accesslog = None  # the application logs requests
_LOOK_EVERY = 100  # requests of a worker
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@cache
def _turn() -> IO[bytes]:
    """Return a file for all workers to lock: each lock is a process's own, and ends with it."""
    return tempfile.TemporaryFile()


def on_starting(server: Any) -> None:
    """Create the file before the fork, so that the workers share it."""
    _turn()


def post_worker_init(worker: Any) -> None:
    """Load the embedding model before the first request, and exempt it from garbage collection.

    ONNX Runtime must not be loaded before the fork: its threads do not survive that, and a worker
    then hangs or aborts when it ends. The candidate index is read at the first selection.
    """
    # Imported here, because the applications are loaded only now.
    from django.db import connections

    from acl.platform.processes import freeze_loaded_objects
    from catalog.embedding.configured_embedder import start_embedder
    from catalog.search_index.cache import index_cache
    from discovery.select.example_texts import warm_common_abilities
    from discovery.select.judgements import warm_small_talk

    with _seen_alive(worker):
        start_embedder()
        index_cache.enabled = True
        with _one_at_a_time():
            warm_small_talk()
            warm_common_abilities()
    connections.close_all()
    freeze_loaded_objects()


def post_request(worker: Any, request: Any, environ: Any, response: Any) -> None:
    """Replace a worker that has grown beyond PEGBOARD_WEB_MEMORY_MEGABYTES.

    It grows for hours, by pieces that many threads keep between requests. It answers what has
    begun, as when the web stops, while the others go on.
    """
    if worker.nr % _LOOK_EVERY or not worker.alive:
        return
    from django.conf import settings

    megabytes = resident_bytes() // 1024**2
    if 0 < settings.PEGBOARD_WEB_MEMORY_MEGABYTES < megabytes:
        worker.log.info("Worker %s has grown to %s MB and is replaced", worker.pid, megabytes)
        worker.alive = False


def resident_bytes() -> int:
    """Return this process's resident memory; 0 where the system has no /proc."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_BYTES
    except OSError:
        return 0


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Make the other workers wait, who then find the examples' vectors in Redis."""
    fcntl.lockf(_turn(), fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.lockf(_turn(), fcntl.LOCK_UN)


@contextmanager
def _seen_alive(worker: Any) -> Iterator[None]:
    """Tell gunicorn meanwhile that the worker lives.

    On a busy machine, loading takes longer than `timeout`: it would be killed and begin anew.
    """
    loaded = threading.Event()

    def notify() -> None:
        while not loaded.wait(timeout / 4):
            worker.notify()

    thread = threading.Thread(target=notify, name="seen-alive", daemon=True)
    thread.start()
    try:
        yield
    finally:
        loaded.set()
        thread.join()
