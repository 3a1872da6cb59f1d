"""Playground: a message, what would be selected for it, and why."""

from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import Group, User
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_GET

from acl.callers import Caller
from acl.models import Space
from acl.services.callers import CallerRefused, caller_for
from discovery.forms import OUTPUTS, PlaygroundForm
from discovery.parameters import parameters_of
from discovery.selected import Asked, Selection
from discovery.services.selection import select_capabilities
from discovery.views.frame import Frame, PageRequest, frame_of, render_page
from discovery.views.outputs import render_output

STARTERS = (
    "Has the landlord answered my mail?",
    "Put lunch with Anna into my calendar on Friday",
    "Summarise this article and post it to Slack",
    "Will it rain in Lisbon tomorrow?",
    "Thanks, that was all!",
)
MOST_PEOPLE = 30
PARTS = (
    ("embedding", "embedding"),
    ("sql", "database"),
    ("ranking", "ranking"),
    ("rendering", "reasons"),
)


@dataclass(frozen=True, slots=True)
class Choices:
    """Whom staff may look as: people to suggest, and the groups and spaces of the one chosen."""

    people: tuple[str, ...]
    groups: tuple[str, ...]
    spaces: tuple[str, ...]


@login_required
@require_GET
def playground(request: PageRequest) -> HttpResponse:
    """The form, and for a message its answer; htmx takes only the part that changes."""
    frame = frame_of(request)
    form = PlaygroundForm(_given(request))
    caller = _caller(request, form, frame)
    if frame.caller is None and caller is None and not request.user.is_staff:
        return render_page(request, "discovery/no_group.html", {"title": "Playground"}, frame=frame)
    context = {
        "form": form,
        "starters": STARTERS,
        "outputs": OUTPUTS,
        "usual_most": settings.PEGBOARD_MAX_TOOLS,
        "choices": _choices(form) if request.user.is_staff else None,
        **_answer(request, form, caller),
    }
    template = "discovery/playground.html" + ("#answer" if request.htmx else "")
    return render_page(request, template, context, frame=frame)


@login_required
@require_GET
def people(request: PageRequest) -> HttpResponse:
    """Names to complete what staff type into any one field; nobody else learns who there is."""
    typed = str(next(iter(request.GET.values()), ""))
    names = _people(typed) if request.user.is_staff else ()
    return render(request, "discovery/people.html", {"names": names})


def _given(request: PageRequest) -> QueryDict:
    """The address's fields; only staff may look as somebody else."""
    given = request.GET.copy()
    if not request.user.is_staff:
        for name in ("user", "group", "space"):
            given.pop(name, None)
    return given


def _caller(request: PageRequest, form: PlaygroundForm, frame: Frame) -> Caller | None:
    """Whom the answer is for; a caller who does not exist is told beside the field."""
    if not form.is_valid():
        return frame.caller
    named = {name: form.cleaned_data[name] or None for name in ("user", "group", "space")}
    if not any(named.values()):
        if frame.caller is None and form.cleaned_data["message"]:
            form.add_error("user", "You are in no group yourself. Choose whom to look as.")
        return frame.caller
    usual = frame.group.name if frame.group else None
    try:
        return caller_for(request.user, **named, usual_group=usual)
    except CallerRefused:
        form.add_error("user", "There is no such active user, or not in this group and space.")
        return None


def _answer(request: PageRequest, form: PlaygroundForm, caller: Caller | None) -> dict[str, object]:
    if caller is None or not form.is_valid() or not form.cleaned_data["message"].strip():
        return {"selection": None}
    selection = select_capabilities(_asked(form, caller))
    output = form.cleaned_data["output"]
    parts = [(label, selection.timings.get(part, 0.0)) for part, label in PARTS]
    return {
        "selection": selection,
        "fitting": [item for item in selection.selected if not item.pinned],
        "rows": [(item, parameters_of(item.input_schema)) for item in selection.selected],
        "saved_percent": 100 - _percent_sent(selection),
        "sent_percent": _percent_sent(selection),
        "parts": parts,
        "output": output,
        "output_text": render_output(output, request=request, form=form, selection=selection),
    }


def _asked(form: PlaygroundForm, caller: Caller) -> Asked:
    data = form.cleaned_data
    return Asked(
        message=data["message"],
        caller=caller,
        history=tuple(line.strip() for line in data["history"].splitlines() if line.strip()),
        max_tools=data["max_tools"] or settings.PEGBOARD_MAX_TOOLS,
        kind=data["kind"] or "any",
    )


def _percent_sent(selection: Selection) -> int:
    """How much of everything is sent; all of it where there is nothing to send."""
    if not selection.tokens_all:
        return 100
    return round(100 * selection.tokens_selected / selection.tokens_all)


def _choices(form: PlaygroundForm) -> Choices:
    name, group = form.data.get("user", ""), form.data.get("group", "")
    if not name:
        return Choices(_people(""), (), ())
    groups = Group.objects.filter(user__username=name).order_by("name")
    spaces = Space.objects.filter(group__name=group, parent__isnull=False).order_by("slug")
    return Choices(
        _people(name),
        tuple(groups.values_list("name", flat=True)),
        tuple(spaces.values_list("slug", flat=True)) if group else (),
    )


def _people(typed: str) -> tuple[str, ...]:
    people = User.objects.filter(is_active=True, username__icontains=typed).order_by("username")
    return tuple(people.values_list("username", flat=True)[:MOST_PEOPLE])
