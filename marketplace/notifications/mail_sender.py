"""Sending mail, in the worker that knows the mail server. The outgoing one does not."""

from django.conf import settings
from django.core.mail import EmailMessage
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, override

from acl.people.languages import language_of
from acl.platform.mail import delivers_mail
from marketplace.models import NotificationChannel, NotificationDelivery
from marketplace.notifications._deliveries import (
    NotDeliveredError,
    attempt_delivery,
    claim_due_mails,
    message_of,
    put_off_mails,
)
from marketplace.notifications.kinds.base import Message
from marketplace.notifications.kinds.registry import MAIL


def deliver_mails() -> None:
    """Send some of the mails that are due, and none for a while if the server is away."""
    claimed = claim_due_mails()
    for place, pk in enumerate(claimed, 1):
        if not attempt_delivery(pk, (MAIL,), _send):
            put_off_mails(claimed[place:])
            return


def _send(row: NotificationDelivery) -> None:
    with override(language_of(row.channel.owner)):
        _send_mail(row.channel, message_of(row))


def _send_mail(channel: NotificationChannel, message: Message) -> None:
    if not delivers_mail():
        raise NotDeliveredError("No mail server is set (PEGBOARD_EMAIL_URL), so no mail was sent.")
    address = channel.owner.email if channel.owner else channel.mail_to
    if not address:
        raise NotDeliveredError("The account has no e-mail address.")
    lines = [message.text, message.url, _(_SIGN_IN)]
    body = "\n\n".join(line for line in lines if line)
    subject = " ".join(message.title.split())[:180]
    EmailMessage(subject, body, settings.DEFAULT_FROM_EMAIL, [address]).send()


_SIGN_IN = gettext_noop(
    "The link asks you to sign in. Change what you are told under Account, Notifications."
)
