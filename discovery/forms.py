"""What people type into the pages."""

from django import forms
from django.conf import settings

from acl.models import AccessRequest
from catalog.models import Capability
from discovery.services.my_tools import Wanted

KINDS = [("", "Every kind"), *Capability.Kind.choices]
SHOWN = [
    ("", "Everything"),
    ("runs", "Runs by itself"),
    ("asks", "Asks first"),
    ("missing", "Not working now"),
]
OUTPUTS = [
    ("", "Request"),
    ("prompt", "Prompt"),
    ("anthropic", "Anthropic"),
    ("openai", "OpenAI"),
    ("gemini", "Gemini"),
    ("mcp", "MCP"),
]


class ToolsForm(forms.Form):
    """The filters of My tools. A wrong value in the address counts as no filter."""

    q = forms.CharField(required=False, max_length=200)
    category = forms.CharField(required=False, max_length=60)
    kind = forms.ChoiceField(required=False, choices=KINDS)
    show = forms.ChoiceField(required=False, choices=SHOWN)
    page = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)

    def wanted(self) -> Wanted:
        """The filters as the service takes them."""
        self.full_clean()
        data = self.cleaned_data
        return Wanted(
            words=data.get("q", ""),
            category=data.get("category", ""),
            kind=data.get("kind", ""),
            show=data.get("show", ""),
            page=data.get("page") or 1,
        )


class RequestForm(forms.ModelForm):
    """What somebody needs, in their own words."""

    class Meta:
        model = AccessRequest
        fields = ["wish"]
        error_messages = {"wish": {"required": "Say in a few words what you need."}}


class PlaygroundForm(forms.Form):
    """A message and how to look at it. All of it is in the address, so that it can be shared."""

    message = forms.CharField(required=False)
    history = forms.CharField(required=False)
    max_tools = forms.IntegerField(required=False, min_value=1, max_value=100)
    kind = forms.ChoiceField(required=False, choices=KINDS)
    output = forms.ChoiceField(required=False, choices=OUTPUTS)
    user = forms.CharField(required=False, max_length=150)
    group = forms.CharField(required=False, max_length=150)
    space = forms.CharField(required=False, max_length=60)

    def clean_message(self) -> str:
        """Messages have a limit, as they have in the API."""
        return self._within_limit("message")

    def clean_history(self) -> str:
        """So have the messages before it."""
        return self._within_limit("history")

    def _within_limit(self, field: str) -> str:
        text: str = self.cleaned_data[field]
        most: int = settings.PEGBOARD_MAX_MESSAGE_CHARACTERS
        if len(text) > most:
            raise forms.ValidationError(
                f"This has {len(text):,} characters; {most:,} are the most that is looked at."
            )
        return text
