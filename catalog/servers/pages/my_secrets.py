"""Pages for personal secrets: list, set, replace and delete; and the form for any secret."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods

from acl.web.frame import Frame, PageRequest, frame_of, render_page
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from catalog.servers.secrets.store import (
    MOST_CHARACTERS,
    MOST_OF_NAME,
    PersonalSecrets,
    UnusableSecretError,
    find_my_secrets,
    forget_secret,
    list_my_secrets,
    set_secret,
)


class SecretForm(forms.Form):
    """The name of a secret, and its value or the wish to delete it.

    A typed value is never rendered again, not even next to its error.
    """

    name = forms.CharField(max_length=MOST_OF_NAME)
    value = forms.CharField(
        required=False,
        max_length=MOST_CHARACTERS,
        strip=False,
        widget=forms.PasswordInput(render_value=False),
    )
    forget = forms.BooleanField(required=False)

    def clean(self) -> dict[str, Any]:
        """Require a value unless the secret is to be deleted."""
        data: dict[str, Any] = self.cleaned_data
        data["value"] = str(data.get("value") or "").strip()
        if not data.get("forget") and not data["value"] and "value" not in self.errors:
            self.add_error("value", _("Enter the secret."))
        return data


@login_required
@require_GET
def my_secrets(request: PageRequest) -> HttpResponse:
    """List the caller's integrations that accept personal secrets."""
    frame = frame_of(request)
    if frame.everywhere is None:
        context = {"title": _("My connections")}
        return render_page(request, "no_group.html", context, frame=frame)
    mine = list_my_secrets(caller=frame.everywhere, user=request.user)
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
    if frame.everywhere is not None:
        mine = find_my_secrets(caller=frame.everywhere, user=request.user, slug=slug)
        if mine is not None:
            return mine
    raise Http404


def _change(request: PageRequest, mine: PersonalSecrets, form: SecretForm) -> None:
    name, who = form.cleaned_data["name"], {"by": request.user, "user": request.user}
    if form.cleaned_data["forget"]:
        forget_secret(integration=mine.integration, name=name, **who)
        messages.success(request, _("%(name)s deleted.") % {"name": name})
        return
    value = form.cleaned_data["value"]
    set_secret(integration=mine.integration, name=name, value=value, **who)
    messages.success(request, _("%(name)s saved. It is not shown again.") % {"name": name})
