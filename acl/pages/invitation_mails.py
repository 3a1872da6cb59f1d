"""Mails with the links of invitations."""

from django.core.mail import EmailMessage
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import override

from acl.accounts.languages import language_of
from acl.models import Invitation
from acl.platform.mail import send_later


def send_invitation(request: HttpRequest, invitation: Invitation, raw: str) -> str:
    """Mail the link once the transaction is committed, and return it."""
    link = request.build_absolute_uri(reverse("invitation", args=[raw]))
    context = {"invitation": invitation, "link": link, "host": request.get_host()}
    with override(language_of(None)):  # what they read is known once they have signed in
        subject = render_to_string("account/email/invitation_subject.txt", context).strip()
        body = render_to_string("account/email/invitation_message.txt", context)
    send_later(EmailMessage(subject, body, to=[invitation.email]))
    return link
