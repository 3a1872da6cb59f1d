"""What a chat backend would send, and what it would get, as text to read and copy."""

import json
import shlex
from typing import Any

from django.urls import reverse

from discovery.forms import PlaygroundForm
from discovery.rendering.formats import render_tools
from discovery.rendering.prompt import render_prompt
from discovery.selected import Selection
from discovery.views.frame import PageRequest

KEY_PLACEHOLDER = "$PEGBOARD_KEY"


def render_output(
    output: str, *, request: PageRequest, form: PlaygroundForm, selection: Selection
) -> str:
    """The text of one of the outputs that the page offers."""
    if not output:
        return curl(request=request, form=form)
    if output == "prompt":
        return render_prompt(selection) or "Nothing is added to the prompt when no tool is sent."
    return json.dumps(render_tools(selection, output), ensure_ascii=False, indent=2)


def curl(*, request: PageRequest, form: PlaygroundForm) -> str:
    """The same question to the API, ready for a shell."""
    body = json.dumps(_body(request, form), ensure_ascii=False, indent=2)
    address = request.build_absolute_uri(reverse("api-select"))
    return "\n".join(
        [
            f"curl {shlex.quote(address)} \\",
            f'  -H "Authorization: Bearer {KEY_PLACEHOLDER}" \\',
            "  -H 'Content-Type: application/json' \\",
            f"  -d {shlex.quote(body)}",
        ]
    )


def _body(request: PageRequest, form: PlaygroundForm) -> dict[str, Any]:
    data = form.cleaned_data
    history = [line.strip() for line in data["history"].splitlines() if line.strip()]
    body = {
        "message": data["message"],
        "user": data["user"] or request.user.get_username(),
        "group": data["group"],
        "space": data["space"],
        "history": history,
        "max_tools": data["max_tools"],
        "kind": data["kind"],
    }
    return {name: value for name, value in body.items() if value}
