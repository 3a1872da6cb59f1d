"""Parts of workers in browser tests, whose event loop runs in the test's thread."""

from collections.abc import Callable
from threading import Thread

from django.db import connections

from catalog.embedding.jobs import embed_pending
from marketplace.installs.worker import install
from marketplace.models import Installation


def in_worker(work: Callable[[], object]) -> None:
    """Do a worker's part in a thread of its own, and wait for it."""

    def run() -> None:
        work()
        connections.close_all()

    worker = Thread(target=run)
    worker.start()
    worker.join()


def install_only_one() -> None:
    """Do all steps of the only installation."""
    pk = Installation.objects.get().pk
    install(pk)
    embed_pending()
    install(pk)
