"""Sign-in with an OpenID Connect provider.

It talks to the provider of PEGBOARD_OIDC_ISSUER, which the operator chose. What the provider says
of a person is believed as far as docs/people.md says, and no further: above all, an address that
it calls verified opens no staff account.
"""

import logging
from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from django.shortcuts import render

from acl.accounts.adapters.account_adapter import AccountAdapter
from acl.accounts.claims import apply_claims
from acl.accounts.people import is_address_taken, person_to_link

logger = logging.getLogger(__name__)


class ProviderAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # no types
    """Adapter for allauth's providers."""

    error_messages = {
        **DefaultSocialAccountAdapter.error_messages,
        "no_password": "Set a password first, or you could not sign in any longer.",
        "connected_other": "It belongs to somebody else here.",
    }

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Allow sign-up if the operator enabled it and no account has the address."""
        addresses = [address.email for address in sociallogin.email_addresses]
        return settings.PEGBOARD_OIDC_SIGN_UP and not any(map(is_address_taken, addresses))

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Link the provider's login to an account, and apply its groups."""
        if _of_two_people(sociallogin):
            raise ImmediateHttpResponse(
                render(request, "socialaccount/authentication_error.html", status=401)
            )
        for address in sociallogin.email_addresses:
            address.verified = address.verified is True  # some providers send it as a text
        if sociallogin.state.get("process") == "connect":
            return
        with transaction.atomic():
            if not sociallogin.is_existing:
                _link(request, sociallogin)
            if sociallogin.is_existing and sociallogin.user.is_active:
                apply_claims(person=sociallogin.user, claims=_claims(sociallogin))

    @transaction.atomic
    def save_user(
        self, request: HttpRequest, sociallogin: SocialLogin, form: object = None
    ) -> User:
        """Create the person with the groups from the provider."""
        user: User = super().save_user(request, sociallogin, form)
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


def _link(request: HttpRequest, sociallogin: SocialLogin) -> None:
    """Link the account with one of the verified addresses, if it is verified here too."""
    verified = [address.email for address in sociallogin.email_addresses if address.verified]
    person = person_to_link(verified)
    if person is not None:
        sociallogin.connect(request, person)


def _claims(sociallogin: SocialLogin) -> dict[str, Any]:
    """Merge the provider's claims; the latest win."""
    said = sociallogin.account.extra_data
    return {**(said.get("id_token") or {}), **(said.get("userinfo") or {})}


def _of_two_people(sociallogin: SocialLogin) -> bool:
    """Return True if ID token and user info have different subjects, which the standard forbids."""
    said = sociallogin.account.extra_data
    subjects = {part["sub"] for part in said.values() if isinstance(part, dict) and "sub" in part}
    return len(subjects) > 1
