"""Forms for people and invitations."""

from typing import Any

from django import forms
from django.contrib.auth.models import Group, User
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from acl.models import Invitation
from acl.people.people import PeopleFilter

SHOWN = [
    ("", gettext_lazy("Everyone")),
    ("active", gettext_lazy("Active")),
    ("inactive", gettext_lazy("Deactivated")),
    ("admins", gettext_lazy("Admins")),
    ("no-codes", gettext_lazy("Without two-factor")),
    ("never", gettext_lazy("Never signed in")),
    ("programs", gettext_lazy("Service accounts")),
]


class PeopleForm(forms.Form):
    """Filters of the list. An invalid value counts as none."""

    q = forms.CharField(required=False, max_length=200)
    group = forms.CharField(required=False, max_length=150)
    show = forms.ChoiceField(required=False, choices=SHOWN)
    page = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)

    def filters(self) -> PeopleFilter:
        """Return the filters as the service takes them."""
        self.full_clean()
        data = self.cleaned_data
        return PeopleFilter(data.get("q", ""), data.get("group", ""), data.get("show", ""))

    def page_number(self) -> int:
        """Return the page number; call `filters` first."""
        return self.cleaned_data.get("page") or 1


class InviteForm(forms.Form):
    """Form for an invitation: address, groups and role."""

    email = forms.EmailField(
        error_messages={
            "required": gettext_lazy("Enter an e-mail address."),
            "invalid": gettext_lazy("This is not a valid e-mail address."),
        }
    )
    groups = forms.ModelMultipleChoiceField(Group.objects.order_by("name", "pk"), required=False)
    role = forms.ChoiceField(choices=Invitation.Role.choices)


class SignInGroupForm(forms.Form):
    """Form for a value of the provider's claim and the group that it gives."""

    value = forms.CharField(
        max_length=200,
        error_messages={"required": gettext_lazy("Enter the value as the provider sends it.")},
    )
    group = forms.ModelChoiceField(
        Group.objects.order_by("name", "pk"),
        empty_label=None,
        error_messages={
            "required": gettext_lazy("Choose a group."),
            "invalid_choice": gettext_lazy("Choose a group."),
        },
    )


class GroupForm(forms.Form):
    """Form for a group."""

    group = forms.ModelChoiceField(Group.objects.all())


class AcceptForm(forms.Form):
    """Form for the name and password of an invited person."""

    username = forms.CharField(
        max_length=150,
        validators=[
            UnicodeUsernameValidator(
                message=gettext_lazy("Use letters, digits and @ . + - _ only, without spaces.")
            )
        ],
        error_messages={"required": gettext_lazy("Choose a user name.")},
    )
    password1 = forms.CharField(
        max_length=128, strip=False, error_messages={"required": gettext_lazy("Choose a password.")}
    )
    password2 = forms.CharField(
        max_length=128,
        strip=False,
        error_messages={"required": gettext_lazy("Repeat the password.")},
    )

    def __init__(self, *args: Any, email: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._email = email

    def clean(self) -> dict[str, Any]:
        """Check that the passwords match, and that the password is strong enough."""
        data = self.cleaned_data
        first, second = data.get("password1"), data.get("password2")
        if first and second and first != second:
            self.add_error("password2", _("The passwords do not match."))
        if first:
            self._check(first, User(username=data.get("username", ""), email=self._email))
        return data

    def _check(self, password: str, person: User) -> None:
        try:
            validate_password(password, user=person)
        except ValidationError as problem:
            self.add_error("password1", problem)
