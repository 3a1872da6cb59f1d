"""The secret form. A typed value is never rendered again, not even next to its error."""

from typing import Any

from django import forms

from catalog.servers.secrets.secret_store import MOST_CHARACTERS, MOST_OF_NAME


class SecretForm(forms.Form):
    """The name of a secret, and its value or the wish to delete it."""

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
            self.add_error("value", "Type the secret.")
        return data
