"""Playground: a message, what would be selected for it, and why."""

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_http_methods

from acl.pages.frame import Frame, PageRequest, frame_of, render_page
from acl.rights.caller import Caller
from discovery.pages.first_steps_page import first_run_beside
from discovery.pages.outputs import link_to, output_of
from discovery.pages.playground_answer import compare, one_answer
from discovery.pages.playground_callers import (
    caller_of,
    choices_for,
    fields_for,
    other_choices_for,
    people_named,
)
from discovery.pages.playground_forms import OUTPUTS, PlaygroundForm
from discovery.pages.playground_samples import samples_for
from discovery.pages.sample_messages import turns_around


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def playground(request: PageRequest) -> HttpResponse:
    """The form, and for a message its answer; htmx takes only the part that changes.

    What is too long for an address is posted; that changes no more than asking by the address."""
    frame = frame_of(request)
    form = PlaygroundForm(fields_for(request))
    caller = caller_of(request, form, frame)
    if frame.caller is None and caller is None and not request.user.is_staff:
        return render_page(request, "no_group.html", {"title": "Playground"}, frame=frame)
    answer = _answer(request, form, frame, caller)
    context = {
        "form": form,
        "outputs": OUTPUTS,
        "usual_most": settings.PEGBOARD_MAX_TOOLS,
        "choices": choices_for(request, form),
        "other_choices": other_choices_for(request, form, frame),
        "first_run": first_run_beside(request, frame, tried=answer["selection"] is not None),
        **answer,
    }
    template = "playground/playground.html" + ("#answer" if request.htmx else "")
    return render_page(request, template, context, frame=frame)


@login_required
@require_GET
def people(request: PageRequest) -> HttpResponse:
    """Names to complete what staff type into any one field; nobody else learns who there is."""
    typed = str(next(iter(request.GET.values()), ""))
    names = people_named(typed) if request.user.is_staff else ()
    return render(request, "playground/people.html", {"names": names})


def _answer(
    request: PageRequest, form: PlaygroundForm, frame: Frame, caller: Caller | None
) -> dict[str, object]:
    if caller is None or not form.asks():
        return {"selection": None, "samples": samples_for(caller)}
    shared = {
        "link": link_to(request, form),
        "turns": turns_around(form.cleaned_data["message"], form.said_before()),
    }
    if form.cleaned_data["vs"]:
        compared = compare(request, form, frame, caller)
        if compared is None:
            return {"selection": None, "samples": samples_for(caller)}
        first = compared.sides[0]
        return {**shared, "compared": compared, "side": first, "selection": first.selection}
    side = one_answer(request, form, frame, caller)
    output = output_of(request=request, form=form, tried=side.tried)
    return {
        **shared,
        "side": side,
        "selection": side.selection,
        "output": output,
        "output_text": output.text,
    }
