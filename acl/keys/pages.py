"""Pages of API keys, for admins: the list, and the forms that create, replace and revoke one."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import Group, User
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.cache import patch_cache_control
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods

from acl.keys.lifecycle import KeyRefused, check_key, create_key, made_with, revoke_key, rotate_key
from acl.keys.listing import KeyFilter, list_keys, usable_keys
from acl.models import ApiKey
from acl.people.people import ServiceAccountRefused, create_account_with_key
from acl.platform.database_work import database_now
from acl.rights.delegation import DelegationRefused
from acl.web.frame import PageRequest, admins_only, extensions, frame_of, render_page

# Forms for keys.

SHOWN = [
    ("", gettext_lazy("All keys")),
    ("usable", gettext_lazy("Usable")),
    ("ending", gettext_lazy("Expires within a week")),
    ("expired", gettext_lazy("Expired")),
    ("resting", gettext_lazy("Suspended")),
    ("revoked", gettext_lazy("Revoked")),
]
WHOM = [
    (
        "users",
        gettext_lazy("Any user of its groups"),
        gettext_lazy("Each request names the user. For chat backends."),
    ),
    (
        "owner",
        gettext_lazy("One person or service account"),
        gettext_lazy("Requests need not name anyone."),
    ),
    (
        "account",
        gettext_lazy("A new service account"),
        gettext_lazy("A user that is a program: nobody can sign in as it."),
    ),
    (
        "nobody",
        gettext_lazy("No owner"),
        gettext_lazy("Only manages the groups' keys. Needs the scope admin and no other."),
    ),
]
SCOPES = [
    ("select", gettext_lazy("Select"), gettext_lazy("select tools for a message")),
    ("discover", gettext_lazy("Discover"), gettext_lazy("list and look up tools")),
    ("execute", gettext_lazy("Execute"), gettext_lazy("call tools")),
    ("register", gettext_lazy("Register"), gettext_lazy("create skills and tools for its groups")),
    ("scim", gettext_lazy("SCIM"), gettext_lazy("provision people and groups")),
    ("admin", pgettext_lazy("scope", "Admin"), gettext_lazy("manage the groups' keys and rights")),
]
LIFETIMES = [
    ("30", gettext_lazy("in 30 days")),
    ("90", gettext_lazy("in 90 days")),
    ("365", gettext_lazy("in a year")),
    ("", gettext_lazy("never")),
]
RENEWALS = [("", gettext_lazy("when the old key would")), *LIFETIMES[:-1]]
OVERLAPS = [
    ("0", gettext_lazy("immediately")),
    ("60", gettext_lazy("in an hour")),
    ("1440", gettext_lazy("in a day")),
    ("10080", gettext_lazy("in a week")),
]


class KeysForm(forms.Form):
    """Filters of the list. An invalid value counts as none."""

    q = forms.CharField(required=False, max_length=200)
    group = forms.CharField(required=False, max_length=150)
    show = forms.ChoiceField(required=False, choices=SHOWN)
    page = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)

    def filters(self) -> KeyFilter:
        """Return the filters as the service takes them."""
        self.full_clean()
        data = self.cleaned_data
        return KeyFilter(data.get("q", ""), data.get("group", ""), data.get("show", ""))


class NewKeyForm(forms.Form):
    """Form for a new key: its name, its scopes, and whom it acts for."""

    name = forms.CharField(
        max_length=120,
        error_messages={"required": gettext_lazy("Give the key a name that says what it is for.")},
    )
    groups = forms.ModelMultipleChoiceField(
        queryset=Group.objects.order_by("name"),
        required=False,
        error_messages={"invalid_choice": gettext_lazy("There is no such group.")},
    )
    all_groups = forms.BooleanField(required=False)
    scopes = forms.MultipleChoiceField(
        choices=ApiKey.Scope.choices,
        initial=[ApiKey.Scope.SELECT],
        error_messages={"required": gettext_lazy("Choose at least one scope.")},
    )
    whom = forms.ChoiceField(choices=[choice[:2] for choice in WHOM], initial="users")
    owner = forms.CharField(required=False, max_length=150)
    account = forms.CharField(required=False, max_length=150)
    description = forms.CharField(required=False, max_length=300)
    also_users = forms.BooleanField(required=False)
    lifetime = forms.ChoiceField(choices=LIFETIMES, required=False, initial="90")

    def clean(self) -> dict[str, Any]:
        """Show refusals of the services beside their fields."""
        data = super().clean() or {}
        whom = data.get("whom")
        if not data.get("groups") and not data.get("all_groups"):
            self.add_error("groups", _("Choose the groups that the key works in."))
        if data.get("all_groups"):
            data["groups"] = []
            if whom in {"account", "nobody"}:
                self.add_error("whom", _("A key for all groups has to act for people."))
        if whom == "owner":
            data["owner"] = self._owner(data)
        if whom == "account" and not data.get("account"):
            self.add_error("account", _("Give the service account a name."))
        if whom == "nobody" and data.get("scopes"):
            self._check_scopes(data["scopes"])
        return data

    @property
    def makes_account(self) -> bool:
        """True if a new service account is created with the key."""
        return bool(self.cleaned_data["whom"] == "account")

    def key(self) -> dict[str, Any]:
        """Return the new key as the services take it."""
        data = self.cleaned_data
        days = data["lifetime"]
        key = {name: data[name] for name in ("name", "scopes")}
        key["groups"] = list(data["groups"])
        key["acts_for_users"] = data["whom"] == "users" or (
            data["whom"] in {"owner", "account"} and data["also_users"]
        )
        key["expires_at"] = database_now() + timedelta(days=int(days)) if days else None
        if self.makes_account:
            return {**key, "account": data["account"], "description": data["description"]}
        owner = data["owner"] if data["whom"] == "owner" else None
        return {**key, "owner": owner, "all_groups": data["all_groups"]}

    def refuse(self, refused: DelegationRefused) -> None:
        """Put a refusal of the service beside the field that asks for too much."""
        field = _FIELD_OF.get(refused.field, refused.field)
        self.add_error(field if field in self.fields else None, str(refused))

    def _owner(self, data: dict[str, Any]) -> User | None:
        name, groups = data.get("owner"), list(data.get("groups") or ())
        if not name:
            self.add_error("owner", _("Enter the owner of the key."))
            return None
        people = User.objects.filter(username=name, is_active=True)
        owner = (people.filter(groups__in=groups) if groups else people).first()
        if owner is None:
            self.add_error("owner", _("These groups have no active user of this name."))
        return owner

    def _check_scopes(self, scopes: list[str]) -> None:
        try:
            check_key(scopes=scopes, owner=None, acts_for_users=False)
        except KeyRefused:
            self.add_error(
                "whom", _("With scopes other than admin, the key has to act for someone.")
            )


_FIELD_OF = {"acts_for_users": "whom", "expires_at": "lifetime"}


class ReplaceForm(forms.Form):
    """Form for rotating a key: overlap, and lifetime of the new one."""

    overlap = forms.ChoiceField(choices=OVERLAPS, initial="1440")
    lifetime = forms.ChoiceField(choices=RENEWALS, required=False)

    def times(self) -> dict[str, timedelta | None]:
        """Return both as the service takes them."""
        data = self.cleaned_data
        return {
            "overlap": timedelta(minutes=int(data["overlap"])),
            "lifetime": timedelta(days=int(data["lifetime"])) if data["lifetime"] else None,
        }


# Pages of API keys, for admins: the list, and creating, replacing and revoking one.
#
# The text of a key is in one answer and nowhere else: no session, no message, no address, no cache.

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
