"""Pages for personal secrets: list, set, replace and delete."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods

from acl.pages.frame import Frame, PageRequest, frame_of, render_page
from catalog.servers.pages.secret_forms import SecretForm
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from catalog.servers.secrets.personal_secrets import (
    PersonalSecrets,
    find_my_secrets,
    list_my_secrets,
)
from catalog.servers.secrets.secret_store import UnusableSecretError, forget_secret, set_secret


@login_required
@require_GET
def my_secrets(request: PageRequest) -> HttpResponse:
    """List the caller's integrations that accept personal secrets."""
    frame = frame_of(request)
    if frame.caller is None:
        context = {"title": "Your connections"}
        return render_page(request, "no_group.html", context, frame=frame)
    mine = list_my_secrets(caller=frame.caller, user=request.user)
    return render_page(request, "connections/list.html", {"mine": mine}, frame=frame)


@sensitive_post_parameters("value")
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def my_secret(request: PageRequest, slug: str) -> HttpResponse:
    """Show or change the caller's secrets at one integration; 404 if it is not theirs."""
    frame = frame_of(request)
    mine = personal_secrets_or_404(request, frame, slug)
    form = SecretForm(request.POST) if request.method == "POST" else None
    if form is not None and form.is_valid():
        name = form.cleaned_data["name"]
        if name not in {secret.name for secret in mine.secrets}:
            raise Http404
        try:
            _change(request, mine, form)
        except (UnusableSecretError, SecretUnavailableError) as problem:
            form.add_error("value", str(problem))
        else:
            return redirect("my-secret", slug)
    context = {"mine": mine, "integration": mine.integration, "secret_form": form}
    status = 422 if form is not None else 200
    return render_page(request, "connections/secret.html", context, frame=frame, status=status)


def personal_secrets_or_404(request: PageRequest, frame: Frame, slug: str) -> PersonalSecrets:
    """Return the caller's secrets at an integration, or raise 404."""
    if frame.caller is not None:
        mine = find_my_secrets(caller=frame.caller, user=request.user, slug=slug)
        if mine is not None:
            return mine
    raise Http404


def _change(request: PageRequest, mine: PersonalSecrets, form: SecretForm) -> None:
    name, who = form.cleaned_data["name"], {"by": request.user, "user": request.user}
    if form.cleaned_data["forget"]:
        forget_secret(integration=mine.integration, name=name, **who)
        messages.success(request, f"Your {name} is forgotten.")
        return
    value = form.cleaned_data["value"]
    set_secret(integration=mine.integration, name=name, value=value, **who)
    messages.success(request, f"Your {name} is set. It is not shown again.")
