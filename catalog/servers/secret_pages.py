"""Pages of personal secrets and of signing in at servers."""

from secrets import compare_digest
from typing import Any
from urllib.parse import quote

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from acl.web.frame import Frame, PageRequest, frame_of, render_page
from catalog.models import Integration, OAuthSignIn
from catalog.servers.oauth.accounts import (
    CannotSignInError,
    accept_callback,
    begin_sign_in,
    forget_account,
)
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

# Pages for personal secrets: list, set, replace and delete; and the form for any secret.


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


# OAuth sign-in pages: begin, progress and callback.
#
# The `state` of a sign-in is stored only in the session of the browser that began it.

SESSION = "sign_ins"
_MOST_AT_ONCE = 5


@login_required
@require_POST
def sign_in(request: PageRequest, slug: str) -> HttpResponse:
    """Begin a sign-in with a personal account."""
    mine = personal_secrets_or_404(request, frame_of(request), slug)
    return begin(request, mine.integration, request.user, back=reverse("my-secret", args=[slug]))


@login_required
@require_POST
def sign_out(request: PageRequest, slug: str) -> HttpResponse:
    """Delete the personal account."""
    mine = personal_secrets_or_404(request, frame_of(request), slug)
    is_revoked = forget_account(by=request.user, integration=mine.integration, user=request.user)
    if is_revoked is not None:
        messages.success(
            request, _("Your account is disconnected.") + " " + describe_revocation(is_revoked)
        )
    return redirect("my-secret", slug)


def describe_revocation(is_revoked: bool) -> str:
    """Describe the state of a deleted account at its server."""
    if is_revoked:
        return _("Pegboard asks the server to revoke its access.")
    return _("The server cannot revoke access. Revoke it there yourself.")


@sensitive_variables("state")
def begin(
    request: PageRequest, integration: Integration, user: User | None, *, back: str
) -> HttpResponse:
    """Begin a sign-in, remember it in the session, and redirect to its progress."""
    callback = request.build_absolute_uri(reverse("account-callback"))
    try:
        attempt, state = begin_sign_in(
            by=request.user, integration=integration, user=user, redirect_uri=callback
        )
    except CannotSignInError as problem:
        messages.warning(request, str(problem))
        return redirect(back)
    sign_ins = dict(list(request.session.get(SESSION, {}).items())[-_MOST_AT_ONCE + 1 :])
    request.session[SESSION] = {**sign_ins, str(attempt.public_id): state}
    return redirect("account-progress", attempt.public_id)


@login_required
@require_GET
def progress(request: PageRequest, public_id: str) -> HttpResponse:
    """Show the progress of a sign-in to whoever began it; 404 for others."""
    rows = OAuthSignIn.objects.select_related("integration")
    row = get_object_or_404(rows, public_id=public_id, by=request.user)
    state = request.session.get(SESSION, {}).get(str(public_id), "")
    waits = row.state == OAuthSignIn.State.WAITING and not row.is_over
    context = {
        "sign_in": row,
        "integration": row.integration,
        "there": f"{row.authorization_url}&state={quote(state)}" if waits and state else "",
        "host": row.authorization_url.split("/")[2] if waits else "",
        "moves": row.state in ("preparing", "finishing") and not row.is_over,
    }
    template = "connections/sign_in.html" + ("#progress" if request.htmx else "")
    return render_page(request, template, context, frame=frame_of(request))


@login_required
@require_GET
@sensitive_variables("state")
def callback(request: PageRequest) -> HttpResponse:
    """Process the redirect back. The state must be the session's own."""
    query = request.GET
    state = query.get("state", "")
    public_id = _find_sign_in(request, state)
    if public_id is None:
        raise Http404
    try:
        row = accept_callback(
            by=request.user,
            state=state,
            code=query.get("code", ""),
            issuer=query.get("iss", "")[:2_000],
            error=query.get("error", "")[:200],
        )
    except SecretUnavailableError as problem:
        messages.warning(request, str(problem))
        return redirect("account-progress", public_id)
    request.session[SESSION] = {
        name: session_state
        for name, session_state in request.session[SESSION].items()
        if name != public_id
    }
    if row is None:
        messages.warning(request, _("This sign-in has expired. Start again."))
    return redirect("account-progress", public_id)


def _find_sign_in(request: PageRequest, state: str) -> str | None:
    sign_ins: dict[str, str] = request.session.get(SESSION, {})
    for public_id, session_state in sign_ins.items():
        if state and compare_digest(session_state.encode(), state.encode()):
            return public_id
    return None
