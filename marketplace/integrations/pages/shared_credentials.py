"""Admin pages for what everyone shares of an integration: its secrets, and its account."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from acl.web.frame import PageRequest, admins_only
from catalog.models import Integration
from catalog.servers import secret_pages as sign_in_pages
from catalog.servers.oauth.accounts import forget_account, set_client
from catalog.servers.secret_pages import SecretForm
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from catalog.servers.secrets.store import (
    UnusableSecretError,
    forget_secret,
    set_own_secrets,
    set_secret,
)
from marketplace.integrations.pages.overview import show


class ClientForm(forms.Form):
    """OAuth client credentials, for servers without dynamic registration."""

    client_id = forms.CharField(
        max_length=500,
        error_messages={
            "required": gettext_lazy("Enter the client ID that the server gave to Pegboard.")
        },
    )
    client_secret = forms.CharField(required=False, max_length=4_000)


@sensitive_post_parameters("value")
@admins_only
@require_POST
def secrets(request: PageRequest, slug: str) -> HttpResponse:
    """Set, replace or delete a shared secret."""
    row = get_object_or_404(Integration, slug=slug)
    form = SecretForm(request.POST)
    if form.is_valid():
        name = form.cleaned_data["name"]
        if form.cleaned_data["forget"]:
            forget_secret(integration=row, name=name, by=request.user)
            messages.success(request, _("%(name)s was deleted.") % {"name": name})
            return redirect(_back(slug))
        try:
            value = form.cleaned_data["value"]
            set_secret(integration=row, name=name, value=value, by=request.user)
        except (UnusableSecretError, SecretUnavailableError) as problem:
            form.add_error("value", str(problem))
        else:
            messages.success(
                request, _("%(name)s was saved. It is not shown again.") % {"name": name}
            )
            return redirect(_back(slug))
    return show(request, slug, {"secret_form": form}, status=422)


@admins_only
@require_POST
def own_secrets(request: PageRequest, slug: str) -> HttpResponse:
    """Allow or forbid people to use secrets of their own."""
    row = get_object_or_404(Integration, slug=slug)
    allowed = request.POST.get("own") == "on"
    set_own_secrets(by=request.user, integration=row, allowed=allowed)
    done = (
        _("People can use their own secrets now.")
        if allowed
        else _("Everyone uses the shared secrets now.")
    )
    messages.success(request, done)
    return redirect(_back(slug))


@admins_only
@require_POST
def sign_in(request: PageRequest, slug: str) -> HttpResponse:
    """Start the sign-in of the shared account."""
    row = get_object_or_404(Integration, slug=slug)
    return sign_in_pages.begin(request, row, None, back=reverse("integration", args=[slug]))


@admins_only
@require_POST
def sign_out(request: PageRequest, slug: str) -> HttpResponse:
    """Delete the shared account."""
    row = get_object_or_404(Integration, slug=slug)
    is_told = forget_account(by=request.user, integration=row, user=None)
    if is_told is not None:
        remains = sign_in_pages.describe_revocation(is_told)
        messages.success(
            request, _("The account was disconnected here. %(remains)s") % {"remains": remains}
        )
    return redirect(f"{reverse('integration', args=[slug])}#account")


@sensitive_post_parameters("client_secret")
@admins_only
@require_POST
def client(request: PageRequest, slug: str) -> HttpResponse:
    """Set the OAuth client id and secret."""
    row = get_object_or_404(Integration, slug=slug)
    form = ClientForm(request.POST)
    if not form.is_valid():
        return show(request, slug, {"client_form": form}, status=422)
    try:
        set_client(by=request.user, integration=row, **form.cleaned_data)
    except SecretUnavailableError as problem:
        form.add_error("client_id", str(problem))
        return show(request, slug, {"client_form": form}, status=422)
    messages.success(request, _("The client ID was saved. Its secret is not shown again."))
    return redirect(f"{reverse('integration', args=[slug])}#account")


def _back(slug: str) -> str:
    return f"{reverse('integration', args=[slug])}#secrets"
