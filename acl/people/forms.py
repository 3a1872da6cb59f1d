"""Forms for people and invitations, and allauth's for signing in, with wrong codes counted."""

from typing import Any

from allauth.account.forms import LoginForm, ResetPasswordForm
from allauth.core import context
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm, BaseAuthenticateForm, ReauthenticateForm
from django import forms
from django.contrib.auth.models import Group, User
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from acl.models import Invitation
from acl.people.people import PeopleFilter
from acl.people.sign_in_attempts import (
    codes_are_locked,
    find_by_address,
    forget_wrong_codes,
    note_wrong_code,
)

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


# As long as a code can count, with the tolerance. allauth remembers it for half a minute only.
SECONDS_OF_A_CODE = 120


class ForgottenForm(ResetPasswordForm):  # type: ignore[misc]  # allauth has no types
    """Form for a reset link. Known and unknown addresses cost the same number of statements."""

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"].lower()
        person = find_by_address(email)
        self.users = [person] if person is not None else []
        return email


class SignInForm(LoginForm):  # type: ignore[misc]  # allauth has no types
    """Sign-in with name or address, and password."""

    def user_credentials(self) -> dict[str, str]:
        """Return the credentials as a user name only.

        For an address, allauth would try both and take twice as long if someone has it.
        """
        data = self.cleaned_data
        return {"username": data["login"], "password": data["password"]}


class CountedCodeMixin(BaseAuthenticateForm):  # type: ignore[misc]  # allauth has no types
    """Checks the count of wrong codes first, and accepts no code twice."""

    def clean_code(self) -> str:
        if codes_are_locked(context.request, self.user):
            raise get_adapter().validation_error("incorrect_code")
        try:
            code: str = super().clean_code()
            self._use_up(code)
        except ValidationError:
            note_wrong_code(context.request, self.user)
            raise
        forget_wrong_codes(self.user)
        return code

    def _use_up(self, code: str) -> None:
        if not cache.add(f"pegboard:code:{self.user.pk}:{code}", 1, SECONDS_OF_A_CODE):
            raise get_adapter().validation_error("incorrect_code")


class SignInCodeForm(CountedCodeMixin, AuthenticateForm):  # type: ignore[misc]
    """Code form at sign-in."""


class ConfirmingCodeForm(CountedCodeMixin, ReauthenticateForm):  # type: ignore[misc]
    """Code form before important changes."""
