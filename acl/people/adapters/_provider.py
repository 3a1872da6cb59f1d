"""Sign-in with an OpenID Connect provider.

It talks to the provider of PEGBOARD_OIDC_ISSUER, which the operator chose. What the provider says
of a person is believed as far as docs/people.md says, and no further: above all, an address that
it calls verified opens no staff account.
"""

import logging
from collections.abc import Mapping
from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.http import HttpRequest
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from acl.audit.recorder import record
from acl.people.adapters._account import AccountAdapter
from acl.people.groups import join_default_groups
from acl.people.people import is_address_taken, person_to_link
from acl.people.sign_in_groups import groups_for

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
