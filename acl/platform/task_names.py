"""Names of all Celery tasks.

A process sends a task by its name, so that the web process imports nothing that goes out. Tasks
named `servers.…` run in the process that holds the connections (CELERY_TASK_ROUTES).
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final, NewType

import structlog
from celery import current_app
from django.db import transaction
from kombu.exceptions import KombuError

from acl.platform.redis_circuit import attempt

TaskName = NewType("TaskName", str)

CHECK_INTEGRATION: Final = TaskName("servers.check_integration")
CHECK_INTEGRATIONS: Final = TaskName("servers.check_integrations")
SYNC_INTEGRATION: Final = TaskName("servers.sync_integration")
SYNC_INTEGRATIONS: Final = TaskName("servers.sync_integrations")

PREPARE_SIGN_IN: Final = TaskName("servers.prepare_sign_in")
FINISH_SIGN_IN: Final = TaskName("servers.finish_sign_in")
SWEEP_SIGN_INS: Final = TaskName("servers.sweep_sign_ins")
RENEW_TOKENS: Final = TaskName("servers.renew_tokens")
REVOKE_TOKEN: Final = TaskName("servers.revoke_token")
SWEEP_REVOCATIONS: Final = TaskName("servers.sweep_revocations")

SWEEP_REQUESTS: Final = TaskName("servers.sweep_requests")
SWEEP_CALLS: Final = TaskName("servers.sweep_calls")  # calls have a queue of their own

INSTALL: Final = TaskName("servers.install")
SWEEP_INSTALLATIONS: Final = TaskName("servers.sweep_installations")
CLEAN_UP_INSTALLATIONS: Final = TaskName("servers.tidy")

REFRESH_SOURCE: Final = TaskName("servers.refresh_source")
SWEEP_SOURCES: Final = TaskName("servers.sweep_sources")

NOTIFY: Final = TaskName("servers.notify")
DELIVER_NOTIFICATION: Final = TaskName("servers.deliver_notification")
ASK_MODEL: Final = TaskName("servers.ask_model")
ANSWER_ADVICE: Final = TaskName("servers.answer_advice")
SWEEP_CHATS: Final = TaskName("servers.sweep_chats")
ASK_FOR_EXAMPLES: Final = TaskName("servers.ask_for_examples")
SWEEP_EXAMPLES: Final = TaskName("servers.sweep_examples")

LOOK_AT_ADDITION: Final = TaskName("servers.look_at_addition")
SWEEP_ADDITIONS: Final = TaskName("servers.sweep_additions")

READ_ICON: Final = TaskName("servers.read_icon")
SWEEP_ICONS: Final = TaskName("servers.sweep_icons")

READ_CLIENT_DOCUMENT: Final = TaskName("servers.read_client_document")
SWEEP_CLIENT_DOCUMENTS: Final = TaskName("servers.sweep_client_documents")

APPLY_TERMS: Final = TaskName("servers.apply_terms")
NOTE_AUDIT_HEAD: Final = TaskName("servers.note_audit_head")
SEND_EVENTS: Final = TaskName("servers.send_events")

EMBED_CAPABILITIES: Final = TaskName("catalog.embed_capabilities")
SWEEP_EMBEDDINGS: Final = TaskName("catalog.sweep_embeddings")
EXPIRE_CAPABILITIES: Final = TaskName("catalog.expire_capabilities")
DELIVER_MAIL: Final = TaskName("marketplace.deliver_mail")
SWEEP_LISTINGS: Final = TaskName("marketplace.sweep_listings")
FORGET_EXPERIENCES: Final = TaskName("discovery.forget_experiences")
MEASURE_EXAMPLES: Final = TaskName("discovery.measure_examples")
LEARN_TAUGHT: Final = TaskName("discovery.learn_taught")


# Sending tasks to the workers, by name.
# Sending may fail: the row that a task is about stays, and its sweep sends the task again.

log = structlog.get_logger(__name__)


def send_on_commit(task: TaskName, *arguments: Any) -> None:
    """Send a task once the transaction is committed, so that the worker finds its row."""
    transaction.on_commit(partial(send_now, task, *arguments), robust=True)


def send_now(task: TaskName, *arguments: Any) -> bool:
    """Send a task; return False, without raising or blocking, if the queue is down."""
    return send_each(task, [arguments])


def send_each(task: TaskName, calls: Iterable[Sequence[Any]]) -> bool:
    """Send a task once for each sequence of arguments; return False if the queue is down."""
    calls = list(calls)
    # Ping first: Celery itself would block for seconds.
    if not calls or not attempt(lambda redis: bool(redis.ping()), default=False):
        return False
    try:
        for arguments in calls:
            current_app.send_task(task, list(arguments))
    except (KombuError, OSError):
        log.warning("queue unavailable", task=task, exc_info=True)
        return False
    return True
