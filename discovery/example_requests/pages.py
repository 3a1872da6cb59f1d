"""The page of an integration's example requests, for admins."""

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from acl.web.frame import PageRequest, admins_only, frame_of, render_page
from catalog.models import Integration
from discovery.example_requests.proposals import (
    Cost,
    ExamplesRefusedError,
    ask_for_examples,
    choose_tools,
    estimate,
    overview_of,
    set_examples,
)
from discovery.models import ChatModel

ON_A_PAGE = 25
_LONGEST_LINES = 4_000


class AskForm(forms.Form):
    """The chat model to ask about tools."""

    model = forms.ModelChoiceField(ChatModel.objects.order_by("name"), empty_label=None)

    def __init__(self, *args: object, costs: dict[ChatModel, Cost], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        field = self.fields["model"]
        field.widget.attrs["class"] = "input"
        self._costs = costs
        field.label_from_instance = self._label  # type: ignore[attr-defined]

    def _label(self, model: ChatModel) -> str:
        """Return what a model costs: `Plum: about 3,400 tokens, $0.002`."""
        cost = self._costs[model]
        words = ngettext("about %(number)s token", "about %(number)s tokens", cost.tokens)
        tokens = words % {"number": f"{cost.tokens:,}"}
        dollars = "" if cost.dollars is None else f", ${cost.dollars:.3f}"
        return f"{model.name}: {tokens}{dollars}"


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def examples(request: PageRequest, slug: str) -> HttpResponse:
    """Show the example requests of an integration's tools; ask a model, or save what was edited."""
    row = get_object_or_404(Integration, slug=slug)
    if request.method != "POST":
        return _show(request, row)
    return (_ask if request.POST.get("do") == "ask" else _save)(request, row)


def _ask(request: PageRequest, row: Integration) -> HttpResponse:
    tools = choose_tools(row, ())
    form = AskForm(request.POST, costs=estimate(ChatModel.objects.all(), tools))
    if not form.is_valid():
        return _show(request, row, form=form)
    try:
        model = form.cleaned_data["model"]
        ask_for_examples(by=request.user, integration=row, model=model, tools=tools)
    except ExamplesRefusedError as refused:
        form.add_error("model", str(refused))
        return _show(request, row, form=form)
    return redirect("integration-examples", row.slug)


def _save(request: PageRequest, row: Integration) -> HttpResponse:
    lines = {
        name.removeprefix("lines-"): request.POST[name][:_LONGEST_LINES].splitlines()
        for name in request.POST
        if name.startswith("lines-")
    }
    discarded = request.POST.get("discard", "")
    if discarded in lines:
        lines = {discarded: []}
    try:
        number = set_examples(by=request.user, integration=row, texts=lines)
    except ExamplesRefusedError as refused:
        return _show(request, row, lines=lines, wrong={refused.field: str(refused)})
    words = ngettext("%(number)s tool was changed.", "%(number)s tools were changed.", number)
    saved = words % {"number": number} if number else _("Nothing was changed.")
    messages.success(request, saved)
    return redirect("integration-examples", row.slug)


def _show(
    request: PageRequest,
    row: Integration,
    *,
    form: AskForm | None = None,
    lines: dict[str, list[str]] | None = None,
    wrong: dict[str, str] | None = None,
) -> HttpResponse:
    overview = overview_of(row)
    poor = choose_tools(row, ())
    costs = estimate(ChatModel.objects.all(), poor)
    page = Paginator(overview.tools, ON_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "integration": row,
        "overview": overview,
        "page": page,
        "tools": [
            {
                "tool": tool,
                "lines": "\n".join((lines or {}).get(tool.full_name, tool.texts)),
                "wrong": (wrong or {}).get(tool.full_name, ""),
            }
            for tool in page
        ],
        "poor": poor,
        "form": form or AskForm(costs=costs),
        "awaited": request.htmx and not overview.is_under_way,
        "has_models": bool(costs),
    }
    status = 422 if wrong or (form and form.errors) else 200
    name = "integrations/examples.html" + ("#run" if request.htmx else "")
    return render_page(request, name, context, frame=frame_of(request), status=status)
