"""The form that begins an installation."""

import uuid
from typing import Any

from django import forms
from django.contrib.auth.models import Group

from acl.models import Space
from marketplace.services.preparing import Prepared, Variable

LONGEST_SECRET = 8_000


class InstallForm(forms.Form):
    """What it needs, who gets it, and the confirmed command. `key` makes two clicks one."""

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
            self.fields[_field(variable)] = forms.CharField(
                required=False, max_length=LONGEST_SECRET, strip=True
            )
        self.new_key = self.data.get("key") or str(uuid.uuid4())

    def clean_confirmed(self) -> str:
        """A program starts only as it was shown; another one has to be looked at again. So does
        another address, which the service compares."""
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
        """The values that were given, by name."""
        given = {one.name: self.cleaned_data[_field(one)] for one in self.settable}
        return {name: value for name, value in given.items() if value}

    def asked(self) -> list[tuple[Variable, forms.BoundField]]:
        """What it needs, each with its field. What was typed is never shown again."""
        return [(one, self[_field(one)]) for one in self.settable]


def _field(variable: Variable) -> str:
    return f"variable-{variable.name}"
