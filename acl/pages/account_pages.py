"""One's own account: addresses, password, codes at sign-in, and what else can sign one in.

The work is django-allauth's. Each change and its entry in the audit log are one transaction.
"""

from typing import Any

from allauth.account import views as account_views
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView, ViewRecoveryCodesView
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.views import ConnectionsView
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse_lazy
from django.utils.cache import add_never_cache_headers
from django.views.decorators.http import require_GET

from acl.audit.recorder import record
from acl.pages.extensions import extensions
from acl.pages.frame import PageRequest, frame_of, render_page
from acl.pages.session_pages import provider_name


class InFrame:
    """A page of allauth's inside our frame; what it changes is one transaction."""

    request: PageRequest

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)  # type: ignore[misc]
        return {**context, "frame": frame_of(self.request)}

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        """Forbid caching: these pages show secrets and codes."""
        form = context.get("form")
        status = 422 if isinstance(form, BaseForm) and form.errors else 200
        response: HttpResponse = super().render_to_response(  # type: ignore[misc]
            context, status=status, **kwargs
        )
        add_never_cache_headers(response)
        return response

    @transaction.atomic
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = super().post(request, *args, **kwargs)  # type: ignore[misc]
        return response


class Recorded(InFrame):
    """Mixin for forms that write an audit entry."""

    action: str

    def form_valid(self, form: Any) -> HttpResponse:
        response: HttpResponse = super().form_valid(form)  # type: ignore[misc]
        user = self.request.user
        record(by=user, action=self.action, target=user.get_username())
        return response


@login_required
@require_GET
def account(request: PageRequest) -> HttpResponse:
    """Show the account on one page."""
    codes = Authenticator.objects.filter(user=request.user, type=Authenticator.Type.TOTP)
    context = {
        "addresses": EmailAddress.objects.filter(user=request.user).order_by("-primary", "email"),
        "codes_on": codes.exists(),
        "provider": provider_name(),
        **extensions.account_context(request.user),
        "connections": SocialAccount.objects.filter(user=request.user).order_by("pk"),
    }
    return render_page(request, "account/account.html", context, frame=frame_of(request))


class Addresses(InFrame, account_views.EmailView):  # type: ignore[misc]  # allauth has no types
    """E-mail addresses: added, confirmed, made the main one, removed."""


class PasswordChange(InFrame, account_views.PasswordChangeView):  # type: ignore[misc]
    """Another password, for who knows the present one."""


class PasswordSet(InFrame, account_views.PasswordSetView):  # type: ignore[misc]
    """A first password, for who came by a provider."""


class CodesOn(Recorded, ActivateTOTPView):  # type: ignore[misc]
    """Codes at sign-in, from an app that has read our secret."""

    action = "person.two_factor_on"


class CodesOff(Recorded, DeactivateTOTPView):  # type: ignore[misc]
    """No codes any longer; the recovery codes go, too."""

    action = "person.two_factor_off"


class RecoveryCodes(InFrame, ViewRecoveryCodesView):  # type: ignore[misc]
    """The codes for a lost phone, shown once."""

    http_method_names = ["get", "head", "options"]


class NewRecoveryCodes(Recorded, GenerateRecoveryCodesView):  # type: ignore[misc]
    """Others instead of them."""

    action = "person.recovery_codes_made"


class Connections(ConnectionsView):  # type: ignore[misc]
    """Disconnects a provider's account; what is connected stands on the account's page."""

    success_url = reverse_lazy("account")

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return redirect("account")

    @transaction.atomic
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = super().post(request, *args, **kwargs)
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        for problems in form.errors.values():
            messages.error(self.request, problems[0])
        return redirect("account")


class PasswordReset(account_views.PasswordResetFromKeyView):  # type: ignore[misc]
    """Another password, for who has the link of a mail."""

    @transaction.atomic
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = super().post(request, *args, **kwargs)
        return response
