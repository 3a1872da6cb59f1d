"""A person's own account: the invitation to it, addresses, passwords and codes at sign-in.

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
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods

from acl.audit.recorder import record
from acl.people._invitations import accept, open_invitation
from acl.people.forms import AcceptForm
from acl.people.languages import chosen_language, follow_language
from acl.people.people import PeopleRefused
from acl.people.session_pages import provider_name
from acl.web.frame import PageRequest, extensions, frame_of, render_page

BACKEND = "acl.people._backends.PasswordBackend"


class InFrame:
    """Show a page of allauth's inside our frame, and make its changes one transaction."""

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
        "languages": settings.LANGUAGES,
        "language": chosen_language(request.user)
        or request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, ""),
        **extensions.account_context(request.user),
        "connections": SocialAccount.objects.filter(user=request.user).order_by("pk"),
    }
    return render_page(request, "account/account.html", context, frame=frame_of(request))


class Addresses(InFrame, account_views.EmailView):  # type: ignore[misc]  # allauth has no types
    """Add, confirm and remove e-mail addresses, and choose the main one."""


class PasswordChange(InFrame, account_views.PasswordChangeView):  # type: ignore[misc]
    """Change the password, given the present one."""


class PasswordSet(InFrame, account_views.PasswordSetView):  # type: ignore[misc]
    """Set a first password, after signing in with a provider."""


class CodesOn(Recorded, ActivateTOTPView):  # type: ignore[misc]
    """Turn on codes at sign-in, from an authenticator app."""

    action = "person.two_factor_on"


class CodesOff(Recorded, DeactivateTOTPView):  # type: ignore[misc]
    """Turn off codes at sign-in; the recovery codes go, too."""

    action = "person.two_factor_off"


class RecoveryCodes(InFrame, ViewRecoveryCodesView):  # type: ignore[misc]
    """Show the recovery codes for a lost phone."""

    http_method_names = ["get", "head", "options"]


class NewRecoveryCodes(Recorded, GenerateRecoveryCodesView):  # type: ignore[misc]
    """Replace the recovery codes."""

    action = "person.recovery_codes_made"


class Connections(ConnectionsView):  # type: ignore[misc]
    """Disconnect a provider's account. The account page lists what is connected."""

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
    """Set another password, with the link from a mail."""

    @transaction.atomic
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = super().post(request, *args, **kwargs)
        return response


@never_cache
@sensitive_post_parameters("password1", "password2")
@sensitive_variables("raw")
@require_http_methods(["GET", "HEAD", "POST"])
def accept_invitation(request: HttpRequest, raw: str) -> HttpResponse:
    """Accept an invitation, with a name and a password.

    Used, expired, withdrawn and made-up links get the same answer.
    """
    invitation = open_invitation(raw)
    if invitation is None:
        return render(request, "account/invitation_gone.html", status=404)
    if request.user.is_authenticated:
        return render(request, "account/invitation_signed_in.html", {"invitation": invitation})
    form = AcceptForm(request.POST or None, email=invitation.email)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            person = accept(raw=raw, username=data["username"], password=data["password1"])
        except PeopleRefused as problem:
            form.add_error("username", str(problem))
        else:
            login(request, person, backend=BACKEND)
            messages.success(request, _("Your account is ready."))
            answer = redirect("my-tools")
            follow_language(request, answer, person)
            return answer
    context = {"form": form, "invitation": invitation}
    return render(request, "account/invitation.html", context, status=422 if form.errors else 200)
