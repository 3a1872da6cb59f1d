"""Adapters of django-allauth: accounts, sign-in codes and the OpenID Connect provider.

Accounts are by invitation only, with our texts and mails sent in the background. Sign-in talks to
the provider of PEGBOARD_OIDC_ISSUER, which the operator chose. What the provider says of a person
is believed as far as docs/people.md says, and no further: above all, an address that it calls
verified opens no staff account.
"""

import logging
from base64 import b32encode, urlsafe_b64encode
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from secrets import token_bytes
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context as current
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from acl.audit.recorder import record
from acl.people.groups import groups_for, join_default_groups
from acl.people.languages import follow_language, language_of
from acl.people.people import is_address_taken, person_to_link
from acl.people.sign_in_attempts import forget_wrong_passwords
from acl.platform.client_address import client_address
from acl.platform.mail import send_later

# Changes of an account, by allauth's name of the mail about it: the action in the audit log, and
# the sentence for the owner. Where the action is empty, allauth reports the change only once it is
# stored, and the view writes the entry.
CHANGES = {
    "account/email/password_changed": ("person.password_changed", _("Your password was changed.")),
    "account/email/password_set": ("person.password_set", _("A password was set.")),
    "account/email/password_reset": ("person.password_reset", _("Your password was reset.")),
    "account/email/email_changed": (
        "person.email_changed",
        _("Your primary e-mail address was changed."),
    ),
    "account/email/email_deleted": ("person.email_removed", _("An e-mail address was removed.")),
    "mfa/email/totp_activated": ("", _("Two-factor authentication was turned on.")),
    "mfa/email/totp_deactivated": (
        "person.two_factor_off",
        _("Two-factor authentication was turned off."),
    ),
    "mfa/email/recovery_codes_generated": (
        "",
        _("New recovery codes were created. The old ones no longer work."),
    ),
    "socialaccount/email/account_connected": (
        "person.connected",
        _("A provider account was connected. It can now be used to sign in."),
    ),
    "socialaccount/email/account_disconnected": (
        "person.disconnected",
        _("A provider account was disconnected. It can no longer be used to sign in."),
    ),
}
# Messages after a change. For changes that are not listed, the page itself shows the result.
SENTENCES = {
    "account/messages/password_changed.txt": _("Your password was changed."),
    "account/messages/password_set.txt": _("Your password was set."),
    "account/messages/email_confirmation_sent.txt": _("We have sent you a confirmation link."),
    "account/messages/email_confirmed.txt": _("The address was confirmed."),
    "account/messages/email_confirmation_failed.txt": _("The address belongs to another account."),
    "account/messages/email_deleted.txt": _("The address was removed."),
    "account/messages/primary_email_set.txt": _("Your primary address was changed."),
    "account/messages/unverified_primary_email.txt": _("Confirm the address first."),
    "account/messages/cannot_delete_primary_email.txt": _("Make another address primary first."),
    "mfa/messages/totp_activated.txt": _("Two-factor authentication is on."),
    "mfa/messages/totp_deactivated.txt": _("Two-factor authentication is off."),
    "socialaccount/messages/account_connected.txt": _("The account was connected."),
    "socialaccount/messages/account_connected_updated.txt": _("The account is already connected."),
    "socialaccount/messages/account_connected_other.txt": _(
        "It is connected to another account here."
    ),
    "socialaccount/messages/account_disconnected.txt": _("The account was disconnected."),
}
WRONG = _("The user name or password is wrong.")


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """Adapter for allauth's accounts."""

    error_messages = {
        **DefaultAccountAdapter.error_messages,
        "username_password_mismatch": WRONG,
        "email_password_mismatch": WRONG,
        "too_many_login_attempts": _("Too many attempts. Wait a few minutes, then try again."),
        "enter_current_password": _("The password is wrong."),
        "incorrect_password": _("The password is wrong."),
        "incorrect_code": _("This code is wrong or has expired. Each code works only once."),
        "duplicate_email": _("You have already added this address."),
        "email_taken": _("This address belongs to another account."),
        "max_email_addresses": _("You cannot add more than %d addresses."),
        "username_taken": _("This name is already taken."),
        "rate_limited": _("Too many attempts. Wait a few minutes, then try again."),
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

    def post_login(self, request: HttpRequest, user: User, **kwargs: Any) -> HttpResponse:
        """Show pages in the person's language from now on."""
        answer: HttpResponse = super().post_login(request, user, **kwargs)
        follow_language(request, answer, user)
        return answer

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
            with override(language_of(user)):
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


# Two-factor codes for django-allauth, with their secrets encrypted in the database.


class CodesAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth has no types
    """Adapter for allauth's codes."""

    error_messages = {
        **DefaultMFAAdapter.error_messages,
        "incorrect_code": _("This code is wrong or has expired. Each code works only once."),
        "cannot_generate_recovery_codes": _("Turn on two-factor authentication first."),
    }

    def get_totp_label(self, user: User) -> str:
        """Return the account's label for authenticator apps."""
        return user.get_username()

    def encrypt(self, text: str) -> str:
        """Encrypt a secret for storage."""
        return _box().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Decrypt a secret.

        After a change of PEGBOARD_SECRET_KEY no code matches: an admin must turn the codes off, and
        the person must turn them on again.
        """
        try:
            return _box().decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            return b32encode(token_bytes(20)).decode()  # a known value would let anyone in


def _box() -> Fernet:
    key = sha256(b"pegboard codes " + force_bytes(settings.SECRET_KEY)).digest()
    return Fernet(urlsafe_b64encode(key))


logger = logging.getLogger(__name__)


class ProviderAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # no types
    """Adapter for allauth's providers."""

    error_messages = {
        **DefaultSocialAccountAdapter.error_messages,
        "no_password": _("Set a password first. Otherwise, you could no longer sign in."),
        "connected_other": _("It is connected to another account here."),
    }

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Allow sign-up if the operator enabled it and no account has the address."""
        addresses = [address.email for address in sociallogin.email_addresses]
        return settings.PEGBOARD_OIDC_SIGN_UP and not any(map(is_address_taken, addresses))

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Link the provider's login to an account, and apply its groups."""
        # True if ID token and user info have different subjects, which the standard forbids.
        data = sociallogin.account.extra_data
        subjects = {
            part["sub"] for part in data.values() if isinstance(part, dict) and "sub" in part
        }
        if len(subjects) > 1:
            raise ImmediateHttpResponse(
                render(request, "socialaccount/authentication_error.html", status=401)
            )
        for address in sociallogin.email_addresses:
            address.verified = address.verified is True  # some providers send it as a text
        if sociallogin.state.get("process") == "connect":
            return
        with transaction.atomic():
            if not sociallogin.is_existing:
                # Link the account with one of the verified addresses, if it is verified here too.
                verified = [
                    address.email for address in sociallogin.email_addresses if address.verified
                ]
                person = person_to_link(verified)
                if person is not None:
                    sociallogin.connect(request, person)
            if sociallogin.is_existing and sociallogin.user.is_active:
                apply_claims(person=sociallogin.user, claims=_claims(sociallogin))

    @transaction.atomic
    def save_user(
        self, request: HttpRequest, sociallogin: SocialLogin, form: object = None
    ) -> User:
        """Create the person with the groups that everyone joins, and those from the provider."""
        user: User = super().save_user(request, sociallogin, form)
        join_default_groups(person=user)
        apply_claims(person=user, claims=_claims(sociallogin), new=True)
        return user

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: object,
        error: object = None,
        exception: Exception | None = None,
        extra_context: dict[str, Any] | None = None,
    ) -> None:
        """Log the details; the page shows only a general message."""
        logger.warning("Signing in with the provider failed: %s", exception or error)

    def send_notification_mail(self, *args: Any, **kwargs: Any) -> None:
        AccountAdapter().send_notification_mail(*args, **kwargs)


def _claims(sociallogin: SocialLogin) -> dict[str, Any]:
    """Merge the provider's claims; the latest win."""
    data = sociallogin.account.extra_data
    return {**(data.get("id_token") or {}), **(data.get("userinfo") or {})}


@transaction.atomic
def apply_claims(*, person: User, claims: Mapping[str, Any], new: bool = False) -> None:
    """Apply mapped groups and admin status, with an audit entry for changes."""
    User.objects.select_for_update().get(pk=person.pk)  # two sign-ins at once would mix
    values = claimed_values(claims, settings.PEGBOARD_OIDC_GROUPS_CLAIM)
    added, removed = _map_groups(person, values)
    admin = _map_admin(person, values)
    details = {"added": added, "removed": removed, "admin": admin}
    changes = {name: value for name, value in details.items() if value not in (None, [])}
    if new:
        record(by=None, action="person.joined", target=person.username, details=changes)
    elif changes:
        record(by=None, action="person.groups_mapped", target=person.username, details=changes)


def claimed_values(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    """Return the values of the claim. Dots lead into objects if no claim has the whole name."""
    claim: Any = claims.get(name)
    if claim is None:
        claim = claims
        for part in name.split("."):
            claim = claim.get(part) if isinstance(claim, Mapping) else None
    if isinstance(claim, str):
        claim = [claim]
    if not isinstance(claim, list):
        return frozenset()
    return frozenset(value for value in claim if isinstance(value, str))


def _map_groups(person: User, values: frozenset[str]) -> tuple[list[str], list[str]]:
    """Apply the mapped groups. Return the names of added and removed groups."""
    granted, mapped, missing = groups_for(values)
    groups = {group.name: group for group in Group.objects.filter(name__in=mapped)}
    had = set(person.groups.filter(name__in=mapped).values_list("name", flat=True))
    if missing:
        logger.warning("There are no groups named %s", ", ".join(sorted(missing)))
    added = sorted(granted - had)
    removed = sorted(had - granted)
    person.groups.add(*(groups[name] for name in added))
    person.groups.remove(*(groups[name] for name in removed))
    return added, removed


def _map_admin(person: User, values: frozenset[str]) -> bool | None:
    """Apply the admin mapping. Return True or False if it changed, else None."""
    admin_group = settings.PEGBOARD_OIDC_ADMIN_GROUP
    if not admin_group or person.is_superuser == (admin_group in values):
        return None
    if person.is_superuser and not _other_admins(person):
        logger.warning("%s stays an admin: there is no other", person.username)
        return None
    person.is_staff = person.is_superuser = not person.is_superuser
    person.save(update_fields=["is_staff", "is_superuser"])
    return person.is_superuser


def _other_admins(person: User) -> bool:
    admins = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=person.pk)
    return admins.exists()
