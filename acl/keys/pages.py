"""Pages of API keys, for admins: the list, and creating, replacing and revoking one.

The text of a key is in one answer and nowhere else: no session, no message, no address, no cache.
"""

from django.contrib import messages
from django.contrib.auth.models import Group
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.cache import patch_cache_control
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods

from acl.keys.forms import SCOPES, WHOM, KeysForm, NewKeyForm, ReplaceForm
from acl.keys.lifecycle import KeyRefused, create_key, made_with, revoke_key, rotate_key
from acl.keys.listing import KeyFilter, list_keys, usable_keys
from acl.models import ApiKey
from acl.people.service_accounts import ServiceAccountRefused, create_account_with_key
from acl.rights.delegation import DelegationRefused
from acl.web.frame import PageRequest, extensions, frame_of, render_page
from acl.web.staff_pages import admins_only

PAGE = 50
ENDED = ("revoked", "expired")  # folded away: nothing is left to do about them


@admins_only
@require_GET
def keys(request: PageRequest) -> HttpResponse:
    """List the keys that match the filters."""
    form = KeysForm(request.GET)
    paginator = Paginator(list_keys(form.filters()), PAGE)
    page = paginator.get_page(form.cleaned_data.get("page"))
    ended = [key for key in page.object_list if key.standing in ENDED]  # type: ignore[attr-defined]
    context = {
        "form": form,
        "running": [key for key in page.object_list if key not in ended],
        "ended": ended,
        "count": paginator.count,
        "found": {"page": page.number, "pages": paginator.num_pages},
        "groups": Group.objects.order_by("name").values_list("name", flat=True),
        "filtered": any(form.cleaned_data.get(name) for name in ("q", "group", "show")),
    }
    template = "keys/list.html" + ("#found" if request.htmx else "")
    return render_page(request, template, context, frame=frame_of(request))


@admins_only
@sensitive_variables("raw")
@require_http_methods(["GET", "HEAD", "POST"])
def new_key(request: PageRequest) -> HttpResponse:
    """Show the form, or the new key with its text, this once."""
    frame = frame_of(request)
    data = request.POST if request.method == "POST" else None
    form = NewKeyForm(data, initial={"groups": [frame.group.pk] if frame.group else []})
    if form.is_bound and form.is_valid():
        create = create_account_with_key if form.makes_account else create_key
        try:
            key, raw = create(by=request.user, **form.key())
        except ServiceAccountRefused as problem:
            form.add_error("account", str(problem))
        except DelegationRefused as refused:
            form.refuse(refused)
        except KeyRefused as problem:
            form.add_error("groups", str(problem))
        else:
            return _shown_once(request, key, raw, _("Your new key"))
    # The selected values: those submitted, or the defaults.
    names = ("scopes", "whom", "lifetime", "all_groups")
    groups = {str(pk) for pk in form["groups"].value() or ()}
    context = {
        "form": form,
        "whom": WHOM,
        "scopes": SCOPES,
        "chosen": {**{name: form[name].value() for name in names}, "groups": groups},
    }
    status = 422 if form.errors else 200
    return render_page(request, "keys/new.html", context, frame=frame, status=status)


@admins_only
@sensitive_variables("raw")
@require_http_methods(["GET", "HEAD", "POST"])
def replace_key(request: PageRequest, pk: int) -> HttpResponse:
    """Ask how long the old key keeps working; then show the new one with its text, this once."""
    key = get_object_or_404(usable_keys(), pk=pk)
    form = ReplaceForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            new, raw = rotate_key(by=request.user, key=key, **form.times())  # type: ignore[arg-type]
        except DelegationRefused as refused:
            form.add_error(None, str(refused))
        else:
            return _shown_once(request, new, raw, _("New key for %(name)s") % {"name": key.name})
    context = {"form": form, "key": key}
    frame, status = frame_of(request), 422 if form.errors else 200
    return render_page(request, "keys/replace.html", context, frame=frame, status=status)


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def revoke(request: PageRequest, pk: int) -> HttpResponse:
    """Ask for confirmation, then revoke the key."""
    key = get_object_or_404(list_keys(KeyFilter()), pk=pk, revoked_at=None)
    if request.method == "POST":
        revoke_key(by=request.user, key=key)
        messages.success(
            request,
            _("%(name)s was revoked. Its requests are refused from now on.") % {"name": key.name},
        )
        return redirect("keys")
    descendants = ApiKey.objects.filter(pk__in=made_with(key), revoked_at=None).order_by(
        "name", "pk"
    )
    context = {"key": key, "made": descendants}
    return render_page(request, "keys/revoke.html", context, frame=frame_of(request))


@sensitive_variables("raw", "call", "context")
def _shown_once(request: PageRequest, key: ApiKey, raw: str, title: str) -> HttpResponse:
    call = extensions.key_example(request, key, raw, request.user)
    context = {"key": key, "raw": raw, "title": title, "call": call}
    response = render_page(request, "keys/shown.html", context, frame=frame_of(request))
    patch_cache_control(response, no_store=True)
    return response
