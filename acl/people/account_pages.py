"""Pages of a person's own account: sign-in, current group, addresses, passwords and codes."""

from typing import Any

from allauth.account import views as account_views
from allauth.account.models import EmailAddress
from allauth.account.views import LoginView
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView, ViewRecoveryCodesView
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.openid_connect import views as openid_connect
from allauth.socialaccount.views import ConnectionsView
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.db import transaction
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse_lazy
from django.utils.cache import add_never_cache_headers
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRefresh
from requests import RequestException

from acl.audit.recorder import record
from acl.people._invitations import accept, open_invitation
from acl.people.forms import AcceptForm
from acl.people.languages import (
    Origin,
    browser_language,
    chosen_language,
    follow_language,
    forget_choice,
    keep_language,
    set_language_cookie,
)
from acl.people.oidc import PROVIDER
from acl.people.people import PeopleRefused
from acl.web.frame import SESSION_GROUP, PageRequest, extensions, frame_of, render_page

# Sign-in, by password or by a provider, and the choice of the current group.


class SignIn(LoginView):  # type: ignore[misc]  # allauth has no types
    """Sign-in page."""

    def get(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """Show the page. For htmx, whose session has ended, reload the whole page."""
        if getattr(request, "htmx", False):
            return HttpResponseClientRefresh()
        response: HttpResponse = super().get(request, *args, **kwargs)
        return response

    def get_context_data(self, **kwargs: object) -> dict[str, object]:
        return {**super().get_context_data(**kwargs), "provider": provider_name()}


def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """Redirect to our sign-in page: the admin's own form would ask for no code."""
    if request.user.is_authenticated:
        if not request.user.is_staff:
            raise Http404
        return redirect("admin:index")
    return redirect_to_login(request.GET.get("next") or resolve_url("admin:index"))


@never_cache
@require_POST
def provider_sign_in(request: HttpRequest) -> HttpResponse:
    """Send the browser to the provider, by a page that forwards it.

    It is no redirect: browsers apply our `form-action` policy to redirects after a form, too, and
    providers redirect further, to addresses that we do not know.
    """
    if not provider_name():
        raise Http404
    try:
        answer: HttpResponse = openid_connect.login(request, provider_id=PROVIDER)
    except RequestException:
        return render(request, "socialaccount/authentication_error.html", status=502)
    if answer.status_code != 302:
        return answer
    context = {"address": answer["Location"], "provider": provider_name()}
    return render(request, "socialaccount/onwards.html", context)


@never_cache
@require_GET
@transaction.atomic
def provider_callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Finish the sign-in with a provider.

    The account, its groups and their audit entries are stored together or not at all.
    """
    if not provider_name():
        raise Http404
    answer: HttpResponse = openid_connect.callback(request, provider_id=provider_id)
    return answer


def provider_name() -> str:
    """Return the provider's name, or ""."""
    return settings.PEGBOARD_OIDC_NAME if settings.PEGBOARD_OIDC_ISSUER else ""


@login_required
@require_POST
def choose_group(request: PageRequest) -> HttpResponse:
    """Switch to another of the person's groups, and return to the page they were on."""
    chosen = request.POST.get("group", "")
    name = next(
        (group.name for group in request.user.groups.all() if str(group.pk) == chosen), None
    )
    if name is None:
        raise Http404
    request.session[SESSION_GROUP] = name
    url = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(
        url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return HttpResponseRedirect(url if safe else resolve_url("my-tools"))


@login_required
@require_POST
def choose_language(request: PageRequest) -> HttpResponse:
    """Keep a language with the account, or none, so that the browser's preferences count."""
    chosen = request.POST.get("language", "")
    if chosen and chosen not in dict(settings.LANGUAGES):
        raise Http404
    answer = redirect("account")
    set_language_cookie(answer, chosen)
    _keep_choice(request, chosen)
    return answer


@transaction.atomic
def _keep_choice(request: PageRequest, chosen: str) -> None:
    if chosen:
        keep_language(person=request.user, code=chosen, origin=Origin.PERSON)
    else:
        forget_choice(person=request.user)
        code = browser_language(request)
        keep_language(person=request.user, code=code, origin=Origin.BROWSER)


# A person's own account: the invitation to it, addresses, passwords and codes at sign-in.
#
# The work is django-allauth's. Each change and its entry in the audit log are one transaction.

BACKEND = "acl.people.sign_in_attempts.PasswordBackend"


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
