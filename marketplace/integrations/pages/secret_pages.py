"""Admin pages for shared secrets of an integration."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from acl.pages.frame import PageRequest
from acl.pages.staff_pages import admins_only
from catalog.models import Integration
from catalog.servers.pages.secret_forms import SecretForm
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from catalog.servers.secrets.secret_store import (
    UnusableSecretError,
    forget_secret,
    set_own_secrets,
    set_secret,
)
from marketplace.integrations.pages.integration_pages import show


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
            messages.success(request, f"{name} is forgotten.")
            return redirect(_back(slug))
        try:
            value = form.cleaned_data["value"]
            set_secret(integration=row, name=name, value=value, by=request.user)
        except (UnusableSecretError, SecretUnavailableError) as problem:
            form.add_error("value", str(problem))
        else:
            messages.success(request, f"{name} is set. It is not shown again.")
            return redirect(_back(slug))
    return show(request, slug, {"secret_form": form}, status=422)


@admins_only
@require_POST
def own_secrets(request: PageRequest, slug: str) -> HttpResponse:
    """Allow or forbid people to use secrets of their own."""
    row = get_object_or_404(Integration, slug=slug)
    allowed = request.POST.get("own") == "on"
    set_own_secrets(by=request.user, integration=row, allowed=allowed)
    told = "People may use secrets of their own." if allowed else "The shared secrets are used."
    messages.success(request, told)
    return redirect(_back(slug))


def _back(slug: str) -> str:
    return f"{reverse('integration', args=[slug])}#secrets"
