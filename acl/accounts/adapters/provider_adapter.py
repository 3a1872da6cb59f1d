"""How signing in with an OpenID Connect provider works here.

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
    """django-allauth's questions about providers, answered."""

    error_messages = {
        **DefaultSocialAccountAdapter.error_messages,
        "no_password": "Set a password first, or you could not sign in any longer.",
        "connected_other": "It belongs to somebody else here.",
    }

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Where the operator says so, and never beside an account that has the address already."""
        addresses = [address.email for address in sociallogin.email_addresses]
        return settings.PEGBOARD_OIDC_SIGN_UP and not any(map(is_address_taken, addresses))

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Find the account, and give it the groups that the provider says."""
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
        """A new person, with their groups."""
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
        """The page says little; the log says why."""
        logger.warning("Signing in with the provider failed: %s", exception or error)

    def send_notification_mail(self, *args: Any, **kwargs: Any) -> None:
        AccountAdapter().send_notification_mail(*args, **kwargs)


def _link(request: HttpRequest, sociallogin: SocialLogin) -> None:
    """Connect the account that has one of the verified addresses, where it is verified here too."""
    verified = [address.email for address in sociallogin.email_addresses if address.verified]
    person = person_to_link(verified)
    if person is not None:
        sociallogin.connect(request, person)


def _claims(sociallogin: SocialLogin) -> dict[str, Any]:
    """All that the provider said, the freshest last."""
    said = sociallogin.account.extra_data
    return {**(said.get("id_token") or {}), **(said.get("userinfo") or {})}


def _of_two_people(sociallogin: SocialLogin) -> bool:
    """Whether the provider's two answers are about different people, which the standard forbids to
    accept."""
    said = sociallogin.account.extra_data
    subjects = {part["sub"] for part in said.values() if isinstance(part, dict) and "sub" in part}
    return len(subjects) > 1
