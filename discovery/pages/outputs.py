"""What a chat backend would send, and what it would get, as text to read and copy; and the address
that asks the same again."""

import shlex
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from acl.pages.frame import PageRequest
from acl.platform.strict_json import write_json
from discovery.answer.formats.provider_formats import render_tools
from discovery.answer.prompt import render_prompt
from discovery.answer.token_budget import cost
from discovery.pages.playground_forms import CALLER, PlaygroundForm
from discovery.pages.selection_preview import Tried, try_in_tiers
from discovery.select.selection import Selection

KEY_PLACEHOLDER = "$PEGBOARD_KEY"
# Web servers and chats take longer ones for a mistake.
LONGEST_LINK = 3_800


@dataclass(frozen=True, slots=True)
class Part:
    """A tier of an output: what it says, and its tokens within the budget."""

    label: str
    text: str
    tokens: int
    budget: int


@dataclass(frozen=True, slots=True)
class Output:
    """One of the outputs that the page offers."""

    name: str
    text: str
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """An address that asks the same again; empty where it would be too long."""

    address: str
    length: int
    names_caller: bool


def output_of(*, request: PageRequest, form: PlaygroundForm, tried: Tried) -> Output:
    """What was chosen to be shown of an answer."""
    name = form.cleaned_data["output"]
    if name == "tiers":
        return _tiers(tried)
    if not name:
        return Output(name, curl(request=request, body=_body(request, form)))
    return Output(name, _rendered(name, tried.selection))


def curl(*, request: HttpRequest, body: dict[str, Any], key: str = KEY_PLACEHOLDER) -> str:
    """A question to the selector's API, ready for a shell."""
    address = request.build_absolute_uri(reverse("api-select"))
    written = write_json(body, ensure_ascii=False, indent=2)
    return "\n".join(
        [
            f"curl {shlex.quote(address)} \\",
            f'  -H "Authorization: Bearer {key}" \\',
            "  -H 'Content-Type: application/json' \\",
            f"  -d {shlex.quote(written)}",
        ]
    )


def link_to(request: PageRequest, form: PlaygroundForm) -> Link:
    """The question and how it is looked at, and nothing of the answer. Whoever opens it is asked
    who they are; it runs with what they may use."""
    asked = {name: value for name, value in form.cleaned_data.items() if value}
    query = urlencode({name: asked[name] for name in form.fields if name in asked})
    address = f"{request.build_absolute_uri(reverse('playground'))}?{query}"
    names_caller = any(asked.get(name) for name in (*CALLER, "vs_user"))
    return Link(address if len(address) <= LONGEST_LINK else "", len(address), names_caller)


def _rendered(name: str, selection: Selection) -> str:
    if name == "prompt":
        return render_prompt(selection) or "Nothing is added to the prompt when no tool is sent."
    return write_json(render_tools(selection, name), ensure_ascii=False, indent=2)


def _tiers(tried: Tried) -> Output:
    told = try_in_tiers(tried.asked)
    options = told.options
    labels = ("Tier 0, categories", "Tier 1, what fits", "Tier 2, in full")
    budgets = (options.tier0_tokens, options.tier1_tokens, options.tier2_tokens)
    parts = tuple(
        Part(label, text, cost(text), budget)
        for label, text, budget in zip(labels, told.texts, budgets, strict=True)
    )
    return Output("tiers", told.context, parts)


def _body(request: PageRequest, form: PlaygroundForm) -> dict[str, Any]:
    data = form.cleaned_data
    body = {
        "message": data["message"],
        "user": data["user"] or request.user.get_username(),
        "group": data["group"],
        "space": data["space"],
        "history": form.said_before(),
        "max_tools": data["max_tools"],
        "kind": data["kind"],
    }
    body = {name: value for name, value in body.items() if value}
    return body | ({"use_graph": False} if data["graph"] == "off" else {})
