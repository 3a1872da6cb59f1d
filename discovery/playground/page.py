"""The playground: a message, the selection for it, and the reasons."""

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from acl.rights.caller_lookup import Caller
from acl.web.frame import Frame, PageRequest, frame_of, render_page
from discovery.playground._answer import answer_message, compare_answers
from discovery.playground._callers import (
    OUTPUTS,
    PlaygroundForm,
    find_caller,
    find_people,
    list_choices,
    list_other_choices,
    read_fields,
)
from discovery.playground.first_steps_page import start_page_checklist
from discovery.playground.outputs import build_link, build_output
from discovery.playground.sample_messages import find_conversation, list_samples


@require_http_methods(["GET", "HEAD", "POST"])
def playground(request: PageRequest) -> HttpResponse:
    """Show the form and, for a message, its answer; htmx requests get only that part."""
    if not request.user.pk:
        # Whoever opens the bare address begins with Today; a link to a message leads here.
        query = request.META["QUERY_STRING"]
        return redirect_to_login(request.get_full_path() if query else reverse("today"))
    frame = frame_of(request)
    form = PlaygroundForm(read_fields(request))
    # A message too long for a URL is posted; like a GET, that changes nothing.
    caller = find_caller(request, form, frame)
    if frame.caller is None and caller is None and not request.user.is_staff:
        return render_page(request, "no_group.html", {"title": _("Playground")}, frame=frame)
    answer = _answer(request, form, frame, caller)
    context = {
        "form": form,
        "outputs": OUTPUTS,
        "usual_most": settings.PEGBOARD_MAX_TOOLS,
        "choices": list_choices(request, form),
        "other_choices": list_other_choices(request, form, frame),
        "first_run": start_page_checklist(request, frame, tried=answer["selection"] is not None),
        **answer,
    }
    template = "playground/playground.html" + ("#answer" if request.htmx else "")
    return render_page(request, template, context, frame=frame)


@login_required
@require_GET
def people(request: PageRequest) -> HttpResponse:
    """Return names to complete what staff type into a caller field; empty for others."""
    typed = str(next(iter(request.GET.values()), ""))
    names = find_people(typed) if request.user.is_staff else ()
    return render(request, "playground/people.html", {"names": names})


def _answer(
    request: PageRequest, form: PlaygroundForm, frame: Frame, caller: Caller | None
) -> dict[str, object]:
    if caller is None or not form.has_message():
        return {"selection": None, "samples": list_samples(caller)}
    shared = {
        "link": build_link(request, form),
        "turns": find_conversation(form.cleaned_data["message"], form.history_lines()),
    }
    if form.cleaned_data["vs"]:
        compared = compare_answers(request, form, frame, caller)
        if compared is None:
            return {"selection": None, "samples": list_samples(caller)}
        first = compared.sides[0]
        return {**shared, "compared": compared, "side": first, "selection": first.selection}
    side = answer_message(request, form, frame, caller)
    output = build_output(request=request, form=form, preview=side.tried)
    return {
        **shared,
        "side": side,
        "selection": side.selection,
        "output": output,
        "output_text": output.text,
    }
