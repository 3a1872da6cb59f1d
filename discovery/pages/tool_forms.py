"""Forms of My tools and of access requests."""

from django import forms

from acl.models import AccessRequest
from catalog.access.my_tools import ToolFilters
from catalog.models import Capability

KINDS = [("", "Every kind"), *Capability.Kind.choices]
SHOWN = [
    ("", "Everything"),
    ("runs", "Runs by itself"),
    ("asks", "Asks first"),
    ("missing", "Not working now"),
]


class ToolsForm(forms.Form):
    """Filters of My tools; invalid values are ignored."""

    q = forms.CharField(required=False, max_length=200)
    category = forms.CharField(required=False, max_length=60)
    kind = forms.ChoiceField(required=False, choices=KINDS)
    show = forms.ChoiceField(required=False, choices=SHOWN)
    page = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)

    def wanted(self) -> ToolFilters:
        """Return the filters as the service takes them."""
        self.full_clean()
        data = self.cleaned_data
        return ToolFilters(
            words=data.get("q", ""),
            category=data.get("category", ""),
            kind=data.get("kind", ""),
            show=data.get("show", ""),
            page=data.get("page") or 1,
        )


class RequestForm(forms.ModelForm):
    """An access request in the person's own words."""

    class Meta:
        model = AccessRequest
        fields = ["wish"]
        error_messages = {"wish": {"required": "Say in a few words what you need."}}
