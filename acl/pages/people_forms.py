"""Forms for people and invitations."""

from typing import Any

from django import forms
from django.contrib.auth.models import Group, User
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError

from acl.accounts.people import WantedPeople
from acl.models import Invitation

SHOWN = [
    ("", "Everyone"),
    ("active", "May sign in"),
    ("inactive", "Deactivated"),
    ("admins", "Admins"),
    ("no-codes", "Without codes"),
    ("never", "Never signed in"),
    ("programs", "Service accounts"),
]


class PeopleForm(forms.Form):
    """The filters of the list. A wrong value in the address counts as no filter."""

    q = forms.CharField(required=False, max_length=200)
    group = forms.CharField(required=False, max_length=150)
    show = forms.ChoiceField(required=False, choices=SHOWN)
    page = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)

    def wanted(self) -> WantedPeople:
        """The filters as the service takes them."""
        self.full_clean()
        data = self.cleaned_data
        return WantedPeople(data.get("q", ""), data.get("group", ""), data.get("show", ""))

    def page_number(self) -> int:
        """Return the page number; call `wanted` first."""
        return self.cleaned_data.get("page") or 1


class InviteForm(forms.Form):
    """Form for an invitation: address, groups and role."""

    email = forms.EmailField(
        error_messages={
            "required": "Say whom you invite.",
            "invalid": "This does not look like an e-mail address.",
        }
    )
    groups = forms.ModelMultipleChoiceField(Group.objects.order_by("name", "pk"), required=False)
    role = forms.ChoiceField(choices=Invitation.Role.choices)


class GroupForm(forms.Form):
    """Form for a group."""

    group = forms.ModelChoiceField(Group.objects.all())


class AcceptForm(forms.Form):
    """The name and the password of a new person."""

    username = forms.CharField(
        max_length=150,
        validators=[
            UnicodeUsernameValidator(message="Letters, digits and @ . + - _ only, without blanks.")
        ],
        error_messages={"required": "Choose a name to sign in with."},
    )
    password1 = forms.CharField(
        max_length=128, strip=False, error_messages={"required": "Choose a password."}
    )
    password2 = forms.CharField(
        max_length=128, strip=False, error_messages={"required": "Write it once more."}
    )

    def __init__(self, *args: Any, email: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._email = email

    def clean(self) -> dict[str, Any]:
        """The same password twice, and one that holds."""
        data = self.cleaned_data
        first, second = data.get("password1"), data.get("password2")
        if first and second and first != second:
            self.add_error("password2", "This is not the same password.")
        if first:
            self._check(first, User(username=data.get("username", ""), email=self._email))
        return data

    def _check(self, password: str, person: User) -> None:
        try:
            validate_password(password, user=person)
        except ValidationError as problem:
            self.add_error("password1", problem)
