"""Celery tasks of client documents. They run in the outgoing worker; the web sends them by name."""

from celery import shared_task

from acl.models import ClientDocument
from acl.oauth.client_registration import OPEN, forget_unconnected_documents
from acl.platform.jobs.rows import overdue, send_again
from acl.platform.jobs.task_names import READ_CLIENT_DOCUMENT, SWEEP_CLIENT_DOCUMENTS
from catalog.servers.client_documents import _reader


@shared_task(name=READ_CLIENT_DOCUMENT)  # type: ignore[untyped-decorator]
def read_client_document(pk: int) -> None:
    """Read a document that waits."""
    _reader.read_document(pk)


@shared_task(name=SWEEP_CLIENT_DOCUMENTS)  # type: ignore[untyped-decorator]
def sweep_client_documents() -> None:
    """Send lost tasks again, and delete documents that nobody needs."""
    overdue_rows = ClientDocument.objects.filter(overdue(at_least=30), state__in=OPEN)
    send_again(READ_CLIENT_DOCUMENT, overdue_rows, state=ClientDocument.State.WAITING)
    forget_unconnected_documents()
