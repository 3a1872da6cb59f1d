"""Sign-in forms: allauth's, with wrong codes counted in the database."""

from allauth.account.forms import LoginForm, ResetPasswordForm
from allauth.core import context
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm, BaseAuthenticateForm, ReauthenticateForm
from django.core.cache import cache
from django.core.exceptions import ValidationError

from acl.people.sign_in_attempts import (
    codes_are_locked,
    find_by_address,
    forget_wrong_codes,
    note_wrong_code,
)

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
