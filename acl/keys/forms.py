"""Forms for keys."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.auth.models import Group, User
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from acl.keys.lifecycle import KeyRefused, check_key
from acl.keys.listing import KeyFilter
from acl.models import ApiKey
from acl.platform.clock import database_now
from acl.rights.delegation import DelegationRefused

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
