"""Mails, sent in the background.

A mail server takes its time. If requests waited for it, their timing would tell a stranger which
addresses have an account.
"""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, partial
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.utils.translation import get_language, override

logger = logging.getLogger(__name__)
_UNDELIVERED = {f"django.core.mail.backends.{name}.EmailBackend" for name in ("console", "dummy")}
Message = EmailMessage | Callable[[], EmailMessage]


def delivers_mail() -> bool:
    """Return False if mails are only printed or dropped, so that no page says that one was sent."""
    return settings.EMAIL_BACKEND not in _UNDELIVERED


def send_later(message: Message) -> None:
    """Send the mail once the transaction is committed. A failure is logged.

    A function writes the mail in the background, in the language of the request. It must not use
    the database.
    """
    transaction.on_commit(partial(_enqueue, message, get_language()))


def _enqueue(message: Message, language: str | None) -> None:
    mail_thread().submit(copy_context().run, _send, message, language)


@cache
def mail_thread() -> ThreadPoolExecutor:
    """Return the process's mail thread pool, created after gunicorn's fork."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="mail")


def _send(message: Message, language: str | None) -> None:
    try:
        with override(language):
            (message if isinstance(message, EmailMessage) else message()).send()
    except (SMTPException, OSError):
        logger.exception("A mail could not be sent")
