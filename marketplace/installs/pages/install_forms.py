"""Form for starting an installation."""

import uuid
from typing import Any

from django import forms
from django.contrib.auth.models import Group

from acl.models import Space
from marketplace.installs.install_preparation import Prepared, Variable

LONGEST_SECRET = 8_000


class InstallForm(forms.Form):
    """Values of variables, receivers, and the confirmed command. `key` makes submits idempotent."""

    key = forms.UUIDField()
    groups = forms.ModelMultipleChoiceField(Group.objects.order_by("name", "pk"), required=False)
    spaces = forms.ModelMultipleChoiceField(
        Space.objects.filter(parent__isnull=False).order_by("pk"), required=False
    )
    confirmed = forms.CharField(required=False, max_length=64)

    def __init__(self, *args: Any, prepared: Prepared, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.prepared = prepared
        self.settable = [one for one in prepared.variables if not one.refusal]
        self.refused = [one for one in prepared.variables if one.refusal]
        for variable in self.settable:
            self.fields[_field_name(variable)] = forms.CharField(
                required=False, max_length=LONGEST_SECRET, strip=True
            )
        self.new_key = self.data.get("key") or str(uuid.uuid4())

    def clean_confirmed(self) -> str:
        """Require the digest of the command as it was shown. The service compares addresses."""
        confirmed: str = self.cleaned_data["confirmed"]
        if self.prepared.target_digest:
            return confirmed
        if confirmed != self.prepared.digest:
            raise forms.ValidationError(
                "Confirm the command."
                if not confirmed
                else "The command is another one by now. Look at it again."
            )
        return confirmed

    def secrets(self) -> dict[str, str]:
        """Return the values that were entered, by name."""
        given = {one.name: self.cleaned_data[_field_name(one)] for one in self.settable}
        return {name: value for name, value in given.items() if value}

    def asked(self) -> list[tuple[Variable, forms.BoundField]]:
        """Return the variables with their fields. Entered values are never rendered again."""
        return [(one, self[_field_name(one)]) for one in self.settable]


def _field_name(variable: Variable) -> str:
    return f"variable-{variable.name}"
