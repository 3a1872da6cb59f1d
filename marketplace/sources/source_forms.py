"""Forms for sources."""

from django import forms

from marketplace.models.source import ADDED_KINDS

# Choices of the refresh interval, in hours.
SCHEDULES = [
    ("1", "every hour"),
    ("6", "every six hours"),
    ("24", "every day"),
    ("168", "every week"),
    ("0", "only by hand"),
]
# Hints shown beside each kind of source.
HINTS = {
    "registry": "An API such as https://registry.example.com, or a JSON file.",
    "docker": "An archive, a repository at a known forge, or a folder.",
    "skills": "An archive, a repository at a known forge, or a folder.",
    "plugins": "A repository at a known forge, an archive, a marketplace.json, or a folder.",
    "mcp_json": "A file with mcpServers, at an address or on this machine.",
}
# Well-known sources to start with. None of them is read before an admin adds it.
SUGGESTED_SOURCES = [
    ("registry", "MCP registry", "https://registry.modelcontextprotocol.io"),
    ("docker", "Docker's MCP catalogue", "https://github.com/docker/mcp-registry"),
    ("skills", "Superpowers, skills", "https://github.com/obra/superpowers"),
    ("plugins", "Awesome Copilot, plugins", "https://github.com/github/awesome-copilot"),
]


class AddSourceForm(forms.Form):
    """Form for a new source."""

    kind = forms.ChoiceField(choices=ADDED_KINDS)
    location = forms.CharField(max_length=500)
    title = forms.CharField(max_length=200, required=False)
    schedule_hours = forms.TypedChoiceField(choices=SCHEDULES, coerce=int, initial="24")


class ChangeSourceForm(forms.Form):
    """Form for the settings of a source."""

    enabled = forms.BooleanField(required=False)
    schedule_hours = forms.IntegerField(min_value=0, max_value=8_760)
