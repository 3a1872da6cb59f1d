"""Outputs of the playground: request and answer as text, and a link to share."""

import shlex
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from acl.platform.strict_json import write_json
from acl.web.frame import PageRequest
from discovery.answer.formats.registry import render_tools
from discovery.answer.prompt import cost, render_prompt
from discovery.calls.try_pages import KEY_PLACEHOLDER
from discovery.playground._answer import SelectionPreview, preview_tiers
from discovery.playground._callers import CALLER, PlaygroundForm
from discovery.select.selection import Selection

# Some web servers and chat apps reject longer URLs.
LONGEST_LINK = 3_800


@dataclass(frozen=True, slots=True)
class OutputTier:
    """A tier of an output, with its tokens and budget."""

    label: str
    text: str
    tokens: int
    budget: int


@dataclass(frozen=True, slots=True)
class Output:
    """A selectable output."""

    name: str
    text: str
    parts: tuple[OutputTier, ...] = ()


@dataclass(frozen=True, slots=True)
class RequestLink:
    """A link to repeat the request; its address is empty if it would be too long."""

    address: str
    length: int
    names_caller: bool


def build_output(
    *, request: PageRequest, form: PlaygroundForm, preview: SelectionPreview
) -> Output:
    """Build the output that the form selects."""
    name = form.cleaned_data["output"]
    if name == "tiers":
        return _tiers(preview)
    if not name:
        return Output(name, curl(request=request, body=_body(request, form)))
    return Output(name, _render(name, preview.selection))


def curl(*, request: HttpRequest, body: dict[str, Any], key: str = KEY_PLACEHOLDER) -> str:
    """Return a curl command for the select API."""
    address = request.build_absolute_uri(reverse("api-select"))
    json_text = write_json(body, ensure_ascii=False, indent=2)
    return "\n".join(
        [
            f"curl {shlex.quote(address)} \\",
            f'  -H "Authorization: Bearer {key}" \\',
            "  -H 'Content-Type: application/json' \\",
            f"  -d {shlex.quote(json_text)}",
        ]
    )


def build_link(request: PageRequest, form: PlaygroundForm) -> RequestLink:
    """Build a link to this request. It runs with the rights of the person who opens it."""
    values = {name: value for name, value in form.cleaned_data.items() if value}
    query = urlencode({name: values[name] for name in form.fields if name in values})
    address = f"{request.build_absolute_uri(reverse('playground'))}?{query}"
    names_caller = any(values.get(name) for name in (*CALLER, "vs_user"))
    return RequestLink(address if len(address) <= LONGEST_LINK else "", len(address), names_caller)


def _render(name: str, selection: Selection) -> str:
    if name == "prompt":
        return render_prompt(selection) or _("Nothing is added to the prompt if no tool is sent.")
    return write_json(render_tools(selection, name), ensure_ascii=False, indent=2)


def _tiers(preview: SelectionPreview) -> Output:
    discovery = preview_tiers(preview.asked)
    options = discovery.options
    labels = (_("Tier 0: categories"), _("Tier 1: matches"), _("Tier 2: full definitions"))
    budgets = (options.tier0_tokens, options.tier1_tokens, options.tier2_tokens)
    parts = tuple(
        OutputTier(label, text, cost(text), budget)
        for label, text, budget in zip(labels, discovery.texts, budgets, strict=True)
    )
    return Output("tiers", discovery.context, parts)


def _body(request: PageRequest, form: PlaygroundForm) -> dict[str, Any]:
    data = form.cleaned_data
    body = {
        "message": data["message"],
        "user": data["user"] or request.user.get_username(),
        "group": data["group"],
        "space": data["space"],
        "history": form.history_lines(),
        "max_tools": data["max_tools"],
        "kind": data["kind"],
    }
    body = {name: value for name, value in body.items() if value}
    return body | ({"use_graph": False} if data["graph"] == "off" else {})
