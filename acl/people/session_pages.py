"""Sign-in, by password or by a provider, and the choice of the current group."""

from allauth.account.views import LoginView
from allauth.socialaccount.providers.openid_connect import views as openid_connect
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRefresh
from requests import RequestException

from acl.people.languages import (
    Origin,
    browser_language,
    forget_choice,
    keep_language,
    set_language_cookie,
)
from acl.people.oidc import PROVIDER
from acl.web.frame import SESSION_GROUP, PageRequest


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
