"""Forms for keys."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.auth.models import Group, User

from acl.delegation import DelegationRefused
from acl.keys.key_lifecycle import KeyRefused, check_key
from acl.keys.key_list import WantedKeys
from acl.models import ApiKey
from acl.platform.clock import database_now

SHOWN = [
    ("", "Every key"),
    ("usable", "Can be used"),
    ("ending", "Ends within a week"),
    ("expired", "Expired"),
    ("resting", "Stopped by its owner"),
    ("revoked", "Revoked"),
]
WHOM = [
    ("users", "Any user of its groups", "Each request names the user. For chat backends."),
    ("owner", "One person or service account", "Requests need not name anybody."),
    ("account", "A new service account", "A user that is a program: nobody can sign in as it."),
    ("nobody", "Nobody", "Only to manage the groups' keys: the scope admin alone."),
]
SCOPES = [
    ("select", "Select", "choose tools for a message"),
    ("discover", "Discover", "list and look up tools"),
    ("execute", "Execute", "call tools"),
    ("admin", "Admin", "manage the groups' keys and rights"),
]
LIFETIMES = [("30", "in 30 days"), ("90", "in 90 days"), ("365", "in a year"), ("", "never")]
RENEWALS = [("", "when the old one would"), *LIFETIMES[:-1]]
OVERLAPS = [
    ("0", "at once"),
    ("60", "in an hour"),
    ("1440", "in a day"),
    ("10080", "in a week"),
]


class KeysForm(forms.Form):
    """The filters of the list. A wrong value in the address counts as none."""

    q = forms.CharField(required=False, max_length=200)
    group = forms.CharField(required=False, max_length=150)
    show = forms.ChoiceField(required=False, choices=SHOWN)
    page = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)

    def wanted(self) -> WantedKeys:
        """The filters as the service takes them."""
        self.full_clean()
        data = self.cleaned_data
        return WantedKeys(data.get("q", ""), data.get("group", ""), data.get("show", ""))


class NewKeyForm(forms.Form):
    """A new key: what it is for, and whom it acts for."""

    name = forms.CharField(
        max_length=120, error_messages={"required": "Give the key a name that says what it is for."}
    )
    groups = forms.ModelMultipleChoiceField(
        queryset=Group.objects.order_by("name"),
        required=False,
        error_messages={"invalid_choice": "There is no such group."},
    )
    all_groups = forms.BooleanField(required=False)
    scopes = forms.MultipleChoiceField(
        choices=ApiKey.Scope.choices,
        initial=[ApiKey.Scope.SELECT],
        error_messages={"required": "Choose at least one thing that the key may do."},
    )
    whom = forms.ChoiceField(choices=[choice[:2] for choice in WHOM], initial="users")
    owner = forms.CharField(required=False, max_length=150)
    account = forms.CharField(required=False, max_length=150)
    description = forms.CharField(required=False, max_length=300)
    also_users = forms.BooleanField(required=False)
    lifetime = forms.ChoiceField(choices=LIFETIMES, required=False, initial="90")

    def clean(self) -> dict[str, Any]:
        """Say beside each field what the services would refuse."""
        data = super().clean() or {}
        whom = data.get("whom")
        if not data.get("groups") and not data.get("all_groups"):
            self.add_error("groups", "Choose the groups that the key works in.")
        if data.get("all_groups"):
            data["groups"] = []
            if whom in {"account", "nobody"}:
                self.add_error("whom", "For all groups, the key has to act for people.")
        if whom == "owner":
            data["owner"] = self._owner(data)
        if whom == "account" and not data.get("account"):
            self.add_error("account", "Give the service account a name.")
        if whom == "nobody" and data.get("scopes"):
            self._check_scopes(data["scopes"])
        return data

    @property
    def makes_account(self) -> bool:
        """True if a new service account is created with the key."""
        return bool(self.cleaned_data["whom"] == "account")

    def key(self) -> dict[str, Any]:
        """The new key as the services take it."""
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
            self.add_error("owner", "Say whose key it is.")
            return None
        people = User.objects.filter(username=name, is_active=True)
        owner = (people.filter(groups__in=groups) if groups else people).first()
        if owner is None:
            self.add_error("owner", "No active user of this name belongs to these groups.")
        return owner

    def _check_scopes(self, scopes: list[str]) -> None:
        try:
            check_key(scopes=scopes, owner=None, acts_for_users=False)
        except KeyRefused:
            self.add_error("whom", "With other scopes than admin the key has to act for somebody.")


_FIELD_OF = {"acts_for_users": "whom", "expires_at": "lifetime"}


class ReplaceForm(forms.Form):
    """Form for rotating a key: overlap, and lifetime of the new one."""

    overlap = forms.ChoiceField(choices=OVERLAPS, initial="1440")
    lifetime = forms.ChoiceField(choices=RENEWALS, required=False)

    def times(self) -> dict[str, timedelta | None]:
        """Both as the service takes them."""
        data = self.cleaned_data
        return {
            "overlap": timedelta(minutes=int(data["overlap"])),
            "lifetime": timedelta(days=int(data["lifetime"])) if data["lifetime"] else None,
        }
