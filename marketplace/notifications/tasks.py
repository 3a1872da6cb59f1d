"""Celery tasks of notifications, in the outgoing worker."""

from celery import shared_task

from acl.platform.jobs.task_names import DELIVER_MAIL, DELIVER_NOTIFICATION, NOTIFY, send_each
from marketplace.notifications._deliveries import add_deliveries, claim_due, is_mail_due
from marketplace.notifications.delivery_sender import deliver


@shared_task(name=NOTIFY)  # type: ignore[untyped-decorator]
def notify() -> None:
    """Store what is to be told, and send what is due."""
    add_deliveries()
    send_each(DELIVER_NOTIFICATION, ([key] for key in claim_due()))
    if is_mail_due():
        send_each(DELIVER_MAIL, [[]])


@shared_task(name=DELIVER_NOTIFICATION)  # type: ignore[untyped-decorator]
def deliver_notification(delivery_id: int) -> None:
    """Try a delivery once."""
    deliver(delivery_id)
