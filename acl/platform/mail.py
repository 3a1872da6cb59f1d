"""Mails, sent beside the request: whether and how fast one goes out shows in no answer.

A mail server takes its time. Waited for, it would tell a stranger which addresses have an account.
"""

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, partial
from smtplib import SMTPException

from django.core.mail import EmailMessage
from django.db import transaction

logger = logging.getLogger(__name__)
_last: list[Future[None]] = []


Message = EmailMessage | Callable[[], EmailMessage]


def send_later(message: Message) -> None:
    """Send the mail once the transaction is through; a function writes it then, without the
    database. One that fails is told in the log."""
    transaction.on_commit(partial(_enqueue, message))


def wait_for_mails() -> None:
    """Until everything has gone out; for tests."""
    while _last:
        _last.pop().result()


def _enqueue(message: Message) -> None:
    _last[:] = [_thread().submit(copy_context().run, _send, message)]


@cache
def _thread() -> ThreadPoolExecutor:
    """Return the process's mail thread pool, created after gunicorn's fork."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="mail")


def _send(message: Message) -> None:
    try:
        (message if isinstance(message, EmailMessage) else message()).send()
    except (SMTPException, OSError):
        logger.exception("A mail could not be sent")
