"""Pages to try a tool: a form made from its schema, a call as oneself, and its result.

The call takes the same way as a program's: rights, arguments, approval and the log are the same.
"""

import json
import shlex
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from acl.platform.strict_json import StrictJSONError, parse_json, write_json
from acl.rights.caller_lookup import Caller
from acl.web.frame import Frame, PageRequest, admins_only, frame_of, render_page
from catalog.access.my_tools import MyTool, find_my_tool
from catalog.formats.descriptors import JSONObject
from discovery.calls._result_parts import outcome_of
from discovery.calls.approval_queue import TooManyWaitingError
from discovery.calls.argument_check import MOST_BYTES, ArgumentsRefusedError
from discovery.calls.argument_form import FormField, FormReader, mark_problem, write_pretty
from discovery.calls.arguments import ExampleRefusedError, delete_example, examples_of, save_example
from discovery.calls.execution import KeyUsedError, NotFoundError, StillUnderWayError, execute
from discovery.calls.queries import find_own_call
from discovery.models import Call, ToolExample

# A call as commands and programs to copy: curl, Python and TypeScript.

KEY_PLACEHOLDER = "$PEGBOARD_KEY"


@dataclass(frozen=True, slots=True)
class Snippet:
    """A text to copy."""

    name: str
    label: str
    text: str


def list_snippets(request: HttpRequest, full_name: str, arguments: JSONObject) -> list[Snippet]:
    """Return the call in three languages, without a key and for the key's own user."""
    address = request.build_absolute_uri(reverse("api-execute"))
    base = request.build_absolute_uri("/").rstrip("/")
    body = {"name": full_name, "arguments": arguments}
    return [
        Snippet("curl", "curl", _curl(address, body)),
        Snippet("python", "Python", _python(base, full_name, arguments)),
        Snippet("typescript", "TypeScript", _typescript(address, body)),
    ]


def _curl(address: str, body: JSONObject) -> str:
    return "\n".join(
        [
            f"curl {shlex.quote(address)} \\",
            f'  -H "Authorization: Bearer {KEY_PLACEHOLDER}" \\',
            "  -H 'Content-Type: application/json' \\",
            f"  -d {shlex.quote(write_json(body, ensure_ascii=False, indent=2))}",
        ]
    )


def _python(base: str, full_name: str, arguments: JSONObject) -> str:
    return "\n".join(
        [
            "import os",
            "",
            "from pegboard_client import Pegboard",
            "",
            f"arguments = {_literal(arguments)}",
            f'with Pegboard({base!r}, os.environ["PEGBOARD_KEY"]) as pegboard:',
            f"    print(pegboard.execute({full_name!r}, arguments, wait=20))",
        ]
    )


def _literal(value: object, indent: str = "") -> str:
    """Return the value as Python writes it, a line for each part."""
    inner = f"{indent}    "
    if isinstance(value, dict) and value:
        rows = [f"{inner}{key!r}: {_literal(part, inner)}," for key, part in value.items()]
        return "\n".join(["{", *rows, f"{indent}}}"])
    if isinstance(value, list) and value:
        return "\n".join(
            ["[", *(f"{inner}{_literal(part, inner)}," for part in value), f"{indent}]"]
        )
    return repr(value)


def _typescript(address: str, body: JSONObject) -> str:
    json_text = write_json(body, ensure_ascii=True, indent=2).replace("\n", "\n  ")
    return "\n".join(
        [
            f"const answer = await fetch({json.dumps(address)}, {{",
            '  method: "POST",',
            "  headers: {",
            "    Authorization: `Bearer ${process.env.PEGBOARD_KEY}`,",
            '    "Content-Type": "application/json",',
            "  },",
            f"  body: JSON.stringify({json_text}),",
            "});",
            "console.log(await answer.json());",
        ]
    )


WAIT_SECONDS = 2.0
# Buttons that change the form and run nothing.
_EDITS = ("add", "remove", "update", "as_form", "as_json")


class SaveForm(forms.Form):
    """The title of an example."""

    title = forms.CharField(
        max_length=80, error_messages={"required": gettext_lazy("Give the example a title.")}
    )


@dataclass(slots=True)
class Filled:
    """A filled-in form, as fields or as one JSON text, with the arguments that it means."""

    form: FormField
    arguments: JSONObject
    as_json: bool
    text: str = ""
    problem: str = ""
    problems: dict[str, str] | None = None

    @property
    def is_valid(self) -> bool:
        """Return True if each text is a value; the call checks the values."""
        return not (self.problem or self.problems)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def try_tool(request: PageRequest, full_name: str) -> HttpResponse:
    """Show the form, change it, run the tool, or save an example."""
    frame = frame_of(request)
    caller = frame.caller
    mine = find_my_tool(caller=caller, full_name=full_name) if caller else None
    if caller is None or mine is None:
        raise Http404
    if request.method == "POST":
        return _post(request, frame, caller, mine)
    call = _find_call(request, caller, mine)
    arguments = call.arguments if call else _example(request, mine)
    return _page(request, frame, mine, _begin(mine, arguments), call=call)


@admins_only
@require_POST
def delete_tool_example(request: PageRequest, full_name: str, pk: int) -> HttpResponse:
    """Delete an example of a tool."""
    example = get_object_or_404(
        ToolExample.objects.select_related("capability"), pk=pk, capability__full_name=full_name
    )
    delete_example(by=request.user, example=example)
    messages.success(request, _("The example was deleted."))
    return redirect("try-tool", full_name)


def _post(request: PageRequest, frame: Frame, caller: Caller, mine: MyTool) -> HttpResponse:
    filled = _read(request, mine)
    if any(name in request.POST for name in _EDITS):
        return _page(request, frame, mine, _edited(request, mine, filled))
    if not filled.is_valid:
        return _page(request, frame, mine, filled, status=422)
    try:
        if "save" in request.POST and request.user.is_staff:
            return _save(request, frame, mine, filled)
        call_id = _run(request, caller, mine, filled)
    except ArgumentsRefusedError as refused:
        marked = [
            not filled.as_json and mark_problem(filled.form, path, reason)
            for path, reason in refused.defects
        ]
        if not all(marked):
            filled.problem = str(refused)
        return _page(request, frame, mine, filled, status=422)
    except NotFoundError:
        raise Http404 from None
    except TooManyWaitingError as many:
        filled.problem = str(many)
        return _page(request, frame, mine, filled, status=429)
    except KeyUsedError as used:
        filled.problem = str(used)
        return _page(request, frame, mine, filled, status=409)
    query = urlencode({"call": call_id, **({"json": "1"} if filled.as_json else {})})
    return redirect(f"{reverse('try-tool', args=[mine.capability.full_name])}?{query}")


def _run(request: PageRequest, caller: Caller, mine: MyTool, filled: Filled) -> str:
    """Run the tool once for each form that was shown, however often it is sent; return the id of
    the call."""
    try:
        done = execute(
            caller=caller,
            full_name=mine.capability.full_name,
            arguments=filled.arguments,
            idempotency_key=_once(request),
            wait_seconds=WAIT_SECONDS,
        )
    except StillUnderWayError as still:
        return str(still.call.pk)
    return done.call_id


def _save(request: PageRequest, frame: Frame, mine: MyTool, filled: Filled) -> HttpResponse:
    form = SaveForm(request.POST)
    if form.is_valid():
        title = form.cleaned_data["title"]
        try:
            save_example(
                by=request.user,
                capability=mine.capability,
                title=title,
                arguments=filled.arguments,
            )
        except ExampleRefusedError as refused:
            form.add_error("title", str(refused))
        else:
            messages.success(request, _("“%(title)s” was saved.") % {"title": title})
            return redirect("try-tool", mine.capability.full_name)
    return _page(request, frame, mine, filled, save=form, status=422)


def _read(request: PageRequest, mine: MyTool) -> Filled:
    """Read what was sent. A text of JSON stands for the whole form."""
    data, schema = request.POST, mine.capability.input_schema
    if "arguments" not in data:
        reader = FormReader(schema, data.dict(), data.getlist)
        form, arguments = reader.read()
        return Filled(form, arguments, as_json=False, problems=reader.problems)
    text, problem, arguments = data["arguments"], "", {}
    try:
        value = parse_json(text[:MOST_BYTES]) if text.strip() else {}
        arguments = value if isinstance(value, dict) else {}
        problem = "" if isinstance(value, dict) else _("The arguments must be an object.")
    except StrictJSONError as wrong:
        problem = _("This is not JSON: %(reason)s.") % {"reason": wrong}
    return Filled(FormReader(schema).read()[0], arguments, True, text, problem)


def _edited(request: PageRequest, mine: MyTool, filled: Filled) -> Filled:
    """Return the form after a button that changes it; wrong values stay where they are."""
    if "as_json" in request.POST and filled.is_valid:
        return Filled(filled.form, filled.arguments, True, write_pretty(filled.arguments))
    if "as_form" in request.POST and filled.is_valid:
        return _begin(mine, filled.arguments)
    return filled


def _begin(mine: MyTool, arguments: JSONObject | None) -> Filled:
    form, _none = FormReader(mine.capability.input_schema).read(arguments)
    return Filled(form, arguments or {}, as_json=False)


def _find_call(request: PageRequest, caller: Caller, mine: MyTool) -> Call | None:
    """Return the person's own call of this tool that the address names, or None."""
    try:
        pk = UUID(request.GET.get("call", ""))
    except ValueError:
        return None
    call = find_own_call(caller=caller, pk=pk)
    return call if call is not None and call.capability_id == mine.capability.pk else None


def _example(request: PageRequest, mine: MyTool) -> JSONObject | None:
    number = request.GET.get("example", "")
    if not (number.isascii() and number.isdigit() and len(number) < 18):
        return None
    example = ToolExample.objects.filter(capability=mine.capability, pk=int(number)).first()
    return parse_json(example.arguments_json) if example else None


def _once(request: PageRequest) -> str:
    text = request.POST.get("once", "")
    try:
        return f"try-{UUID(text)}"
    except ValueError:
        return ""


def _page(
    request: PageRequest,
    frame: Frame,
    mine: MyTool,
    filled: Filled,
    *,
    call: Call | None = None,
    save: SaveForm | None = None,
    status: int = 200,
) -> HttpResponse:
    if call is not None and request.GET.get("json") == "1" and not filled.as_json:
        filled = Filled(filled.form, filled.arguments, True, write_pretty(filled.arguments))
    context: dict[str, Any] = {
        "mine": mine,
        "filled": filled,
        "once": uuid4(),
        "examples": examples_of(mine.capability),
        "save": save or SaveForm(),
        "call": call,
        "snippets": list_snippets(request, mine.capability.full_name, filled.arguments),
    }
    if call is not None:
        context["done"], context["parts"] = outcome_of(call)
    template = "tools/try.html"
    if request.htmx and call is not None:
        template += "#result"
    return render_page(request, template, context, frame=frame, status=status)
