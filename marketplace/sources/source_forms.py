"""What admins type about sources."""

from django import forms

from marketplace.models.source import ADDED_KINDS

# How often people want to be told what is new.
SCHEDULES = [
    ("1", "every hour"),
    ("6", "every six hours"),
    ("24", "every day"),
    ("168", "every week"),
    ("0", "only by hand"),
]
# What each kind takes, in words beside the choice.
HINTS = {
    "registry": "An API such as https://registry.example.com, or a JSON file.",
    "docker": "An archive, a repository at a known forge, or a folder.",
    "skills": "An archive, a repository at a known forge, or a folder.",
    "plugins": "A repository at a known forge, an archive, a marketplace.json, or a folder.",
    "mcp_json": "A file with mcpServers, at an address or on this machine.",
}
# Places that many begin with; nothing of them is read before somebody adds them.
SUGGESTED = [
    ("registry", "MCP registry", "https://registry.modelcontextprotocol.io"),
    ("docker", "Docker's MCP catalogue", "https://github.com/docker/mcp-registry"),
    ("skills", "Superpowers, skills", "https://github.com/obra/superpowers"),
    ("plugins", "Awesome Copilot, plugins", "https://github.com/github/awesome-copilot"),
]


class AddSourceForm(forms.Form):
    """A new source."""

    kind = forms.ChoiceField(choices=ADDED_KINDS)
    location = forms.CharField(max_length=500)
    title = forms.CharField(max_length=200, required=False)
    schedule_hours = forms.TypedChoiceField(choices=SCHEDULES, coerce=int, initial="24")


class ChangeSourceForm(forms.Form):
    """What of a source can be changed."""

    enabled = forms.BooleanField(required=False)
    schedule_hours = forms.IntegerField(min_value=0, max_value=8_760)
