"""Account rules for django-allauth: invitation only, our texts, mails sent in the background."""

from functools import partial
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context as current
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from acl.accounts.lockout import forget_wrong_passwords
from acl.audit.recorder import record
from acl.platform.client_address import client_address
from acl.platform.mail import send_later

# What was changed about an account, by allauth's name of the mail about it: the entry in the audit
# log, and the sentence that its owner is sent. Of two changes allauth tells only when they are
# stored already; their views write the entry.
CHANGES = {
    "account/email/password_changed": ("person.password_changed", "The password was changed."),
    "account/email/password_set": ("person.password_set", "A password was set."),
    "account/email/password_reset": ("person.password_reset", "The password was set anew."),
    "account/email/email_changed": ("person.email_changed", "The main address was changed."),
    "account/email/email_deleted": ("person.email_removed", "An e-mail address was removed."),
    "mfa/email/totp_activated": ("", "Codes at sign-in were turned on."),
    "mfa/email/totp_deactivated": ("person.two_factor_off", "Codes at sign-in were turned off."),
    "mfa/email/recovery_codes_generated": (
        "",
        "New recovery codes were made; the old ones no longer count.",
    ),
    "socialaccount/email/account_connected": (
        "person.connected",
        "An account of another provider can sign in from now on.",
    ),
    "socialaccount/email/account_disconnected": (
        "person.disconnected",
        "An account of another provider can no longer sign in.",
    ),
}
# What a page says after a change. What is not here is said by the page itself.
SENTENCES = {
    "account/messages/password_changed.txt": "Your password is changed.",
    "account/messages/password_set.txt": "Your password is set.",
    "account/messages/email_confirmation_sent.txt": "A mail with a link is on its way.",
    "account/messages/email_confirmed.txt": "The address is confirmed.",
    "account/messages/email_confirmation_failed.txt": "The address belongs to another account.",
    "account/messages/email_deleted.txt": "The address is removed.",
    "account/messages/primary_email_set.txt": "The main address is changed.",
    "account/messages/unverified_primary_email.txt": "Confirm the address first.",
    "account/messages/cannot_delete_primary_email.txt": "Make another address the main one first.",
    "mfa/messages/totp_activated.txt": "Codes at sign-in are on.",
    "mfa/messages/totp_deactivated.txt": "Codes at sign-in are off.",
    "socialaccount/messages/account_connected.txt": "The account is connected.",
    "socialaccount/messages/account_connected_updated.txt": "The account was connected already.",
    "socialaccount/messages/account_connected_other.txt": "It belongs to somebody else here.",
    "socialaccount/messages/account_disconnected.txt": "The account is not connected any longer.",
}
WRONG = "Name and password do not belong together."


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """Adapter for allauth's accounts."""

    error_messages = {
        **DefaultAccountAdapter.error_messages,
        "username_password_mismatch": WRONG,
        "email_password_mismatch": WRONG,
        "too_many_login_attempts": "Too many tries. Wait a few minutes.",
        "enter_current_password": "This is not your password.",
        "incorrect_password": "This is not your password.",
        "incorrect_code": "This code does not fit. Each counts once, and not for long.",
        "duplicate_email": "You have this address already.",
        "email_taken": "This address belongs to another account.",
        "max_email_addresses": "You have %d addresses; that is the most.",
        "username_taken": "Somebody has this name already.",
        "rate_limited": "Too many tries. Wait a few minutes.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return False: people need an invitation."""
        return False

    def is_ajax(self, request: HttpRequest) -> bool:
        """Return False: our pages always answer with HTML, whatever the client accepts."""
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address for allauth's limits; a socket has none."""
        return client_address(request) or "unknown"

    def authenticate(self, request: HttpRequest, **credentials: Any) -> User | None:
        """Authenticate by name and password. A deactivated person is answered like a stranger."""
        user = super().authenticate(request, **credentials)
        if not isinstance(user, User) or not user.is_active:
            return None
        forget_wrong_passwords(request, credentials)
        return user

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("account")

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        """Answer a deactivated person who signs in by a provider like a stranger."""
        return render(request, "account/signup_closed.html", status=403)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Write the mail now, and send it in the background."""
        host = current.request.get_host()
        send_later(self.render_mail(template_prefix, email, {"host": host, **context}))

    def send_password_reset_mail(self, user: User, email: str, context: dict[str, Any]) -> None:
        """Write and send the mail in the background: timing must not tell who has an account."""
        facts = {
            "username": user.get_username(),
            "host": current.request.get_host(),
            "password_reset_url": context["password_reset_url"],
        }
        send_later(partial(self.render_mail, "account/email/password_reset_key", email, facts))

    def send_notification_mail(
        self,
        template_prefix: str,
        user: User,
        context: dict[str, Any] | None = None,
        email: str | None = None,
    ) -> None:
        """Record the change in the audit log, and notify the owner."""
        action, sentence = CHANGES[template_prefix]
        if action:
            record(by=user, action=action, target=user.get_username())
        about = {"sentence": sentence, "at": timezone.now(), "user": user, **(context or {})}
        if to := email or user.email:
            self.send_mail("account/email/notice", to, about)

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: dict[str, Any] | None = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        """Show our own text for a message, or none."""
        if sentence := message or SENTENCES.get(message_template or ""):
            messages.add_message(request, level, sentence, extra_tags=extra_tags)
