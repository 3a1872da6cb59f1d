"""The playground's form. All of its fields are in the URL, so that a request can be shared."""

from dataclasses import replace

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy

from acl.rights.caller import Caller
from discovery.pages.my_tools_pages import KINDS
from discovery.select.selection import Asked

OUTPUTS = [
    ("", gettext_lazy("Request")),
    ("prompt", gettext_lazy("Prompt")),
    ("tiers", gettext_lazy("Tiers")),
    ("anthropic", "Anthropic"),
    ("openai", "OpenAI"),
    ("openai_responses", "OpenAI Responses"),
    ("gemini", "Gemini"),
    ("mcp", "MCP"),
]
GRAPH = [("", gettext_lazy("Used")), ("off", gettext_lazy("Ignored"))]
COMPARED = [
    ("", gettext_lazy("None")),
    ("settings", gettext_lazy("Other settings")),
    ("caller", gettext_lazy("Another user")),
]
AS_BEFORE = ("", gettext_lazy("Same"))
# Fields of the caller, and of the second caller to compare with.
CALLER, OTHER_CALLER = ("user", "group", "space"), ("vs_user", "vs_group", "vs_space")
LONGEST_NAME = 200


class PlaygroundForm(forms.Form):
    """A message with its settings; the `vs` fields are those of the second answer."""

    message = forms.CharField(required=False)
    history = forms.CharField(required=False)
    max_tools = forms.IntegerField(required=False, min_value=1, max_value=100)
    kind = forms.ChoiceField(required=False, choices=KINDS)
    graph = forms.ChoiceField(required=False, choices=GRAPH)
    output = forms.ChoiceField(required=False, choices=OUTPUTS)
    user = forms.CharField(required=False, max_length=150)
    group = forms.CharField(required=False, max_length=150)
    space = forms.CharField(required=False, max_length=60)
    why = forms.CharField(required=False, max_length=LONGEST_NAME)
    vs = forms.ChoiceField(required=False, choices=COMPARED)
    vs_max_tools = forms.IntegerField(required=False, min_value=1, max_value=100)
    vs_kind = forms.ChoiceField(
        required=False, choices=[AS_BEFORE, ("any", gettext_lazy("All kinds")), *KINDS[1:]]
    )
    vs_graph = forms.ChoiceField(
        required=False, choices=[AS_BEFORE, ("on", gettext_lazy("Used")), GRAPH[1]]
    )
    vs_history = forms.ChoiceField(
        required=False, choices=[AS_BEFORE, ("off", gettext_lazy("Ignored"))]
    )
    vs_user = forms.CharField(required=False, max_length=150)
    vs_group = forms.CharField(required=False, max_length=150)
    vs_space = forms.CharField(required=False, max_length=60)

    def has_message(self) -> bool:
        """Return True if the form is valid and has a message."""
        return self.is_valid() and bool(self.cleaned_data["message"].strip())

    def history_lines(self) -> tuple[str, ...]:
        """Return the earlier messages, oldest first."""
        lines = str(self.cleaned_data["history"]).splitlines()
        return tuple(line.strip() for line in lines if line.strip())

    def selection_request(self, caller: Caller) -> Asked:
        """Build the selection request."""
        data = self.cleaned_data
        return Asked(
            message=data["message"],
            caller=caller,
            history=self.history_lines(),
            max_tools=data["max_tools"] or settings.PEGBOARD_MAX_TOOLS,
            kind=data["kind"] or "any",
            use_graph=data["graph"] != "off",
        )

    def second_request(self, asked: Asked) -> Asked:
        """Build the selection request with the second answer's settings."""
        data = self.cleaned_data
        graph = {"": asked.use_graph, "on": True, "off": False}[data["vs_graph"]]
        return replace(
            asked,
            history=() if data["vs_history"] == "off" else asked.history,
            max_tools=data["vs_max_tools"] or asked.max_tools,
            kind=data["vs_kind"] or asked.kind,
            use_graph=graph,
        )
