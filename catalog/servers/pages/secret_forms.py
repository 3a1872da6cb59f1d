"""Setting a secret and forgetting it. What was typed is never shown again, not even beside what is
wrong with it."""

from typing import Any

from django import forms

from catalog.servers.secrets.secret_store import MOST_CHARACTERS, MOST_OF_NAME


class SecretForm(forms.Form):
    """One secret: its name, and its value where it is set."""

    name = forms.CharField(max_length=MOST_OF_NAME)
    value = forms.CharField(
        required=False,
        max_length=MOST_CHARACTERS,
        strip=False,
        widget=forms.PasswordInput(render_value=False),
    )
    forget = forms.BooleanField(required=False)

    def clean(self) -> dict[str, Any]:
        """A value, or the wish to forget it."""
        data: dict[str, Any] = self.cleaned_data
        data["value"] = str(data.get("value") or "").strip()
        if not data.get("forget") and not data["value"] and "value" not in self.errors:
            self.add_error("value", "Type the secret.")
        return data
