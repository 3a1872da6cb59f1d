"""Forms for integrations."""

from typing import Any

from django import forms

from catalog.models import Integration
from marketplace.integrations.integration_list import WantedIntegrations

SHOWN = [
    ("", "Any state"),
    ("works", "Work"),
    ("trouble", "In trouble"),
    ("waiting", "Wait for somebody"),
    ("off", "Switched off"),
    ("update", "Have an update"),
]
KINDS = [("", "Every kind"), *Integration.Kind.choices]


class IntegrationsForm(forms.Form):
    """Filters from the query string. Invalid values count as not set."""

    q = forms.CharField(required=False, max_length=200)
    kind = forms.ChoiceField(required=False, choices=KINDS)
    show = forms.ChoiceField(required=False, choices=SHOWN)
    page = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)

    def wanted(self) -> WantedIntegrations:
        """Return the cleaned values as filters."""
        self.full_clean()
        data = self.cleaned_data
        return WantedIntegrations(data.get("q", ""), data.get("kind", ""), data.get("show", ""))


class UninstallForm(forms.Form):
    """Confirmation by typing the integration's name."""

    name = forms.CharField(
        max_length=48, error_messages={"required": "Type its name, so that it is the right one."}
    )

    def __init__(self, *args: Any, integration: Integration, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._slug = integration.slug

    def clean_name(self) -> str:
        """Accept only the exact name."""
        name = str(self.cleaned_data["name"])
        if name != self._slug:
            raise forms.ValidationError("This is not its name. Type it as it stands above.")
        return name


class ClientForm(forms.Form):
    """OAuth client credentials, for servers without dynamic registration."""

    client_id = forms.CharField(
        max_length=500, error_messages={"required": "Type what the server calls Pegboard."}
    )
    client_secret = forms.CharField(required=False, max_length=4_000)
