"""Accepting an invitation: the one way to an account."""

from django.contrib import messages
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from acl.accounts.invitations import accept, open_invitation
from acl.accounts.people import PeopleRefused
from acl.pages.people_forms import AcceptForm

BACKEND = "acl.accounts.backends.PasswordBackend"


@never_cache
@sensitive_post_parameters("password1", "password2")
@sensitive_variables("raw")
@require_http_methods(["GET", "HEAD", "POST"])
def accept_invitation(request: HttpRequest, raw: str) -> HttpResponse:
    """Choose a name and a password. Used, expired, withdrawn and made-up links answer alike."""
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
            messages.success(request, "Your account is ready.")
            return redirect("my-tools")
    context = {"form": form, "invitation": invitation}
    return render(request, "account/invitation.html", context, status=422 if form.errors else 200)
