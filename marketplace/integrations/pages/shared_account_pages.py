"""Admin pages for the shared account of an integration."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from acl.pages.frame import PageRequest
from acl.pages.staff_pages import admins_only
from catalog.models import Integration
from catalog.servers.oauth.oauth_accounts import forget_account, set_client
from catalog.servers.pages import sign_in_pages
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from marketplace.integrations.pages.integration_forms import ClientForm
from marketplace.integrations.pages.integration_pages import show


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
        messages.success(request, f"The account is forgotten here. {remains}")
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
    messages.success(request, "The client id is set. Its secret is not shown again.")
    return redirect(f"{reverse('integration', args=[slug])}#account")
