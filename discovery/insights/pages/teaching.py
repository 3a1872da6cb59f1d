"""Page for teaching: proposed messages, their tools, and what has changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from acl.rights.caller_lookup import Caller
from acl.web.frame import PageRequest, admins_only, render_page
from acl.web.text_upload import TextFileField
from discovery.insights.pages.insights_query import InsightsQuery, with_query
from discovery.insights.pages.overview import TEACH, render_insights
from discovery.learning.experience_store import review
from discovery.models import TaughtMessage
from discovery.teaching.taught_messages import (
    Decision,
    OfferedTool,
    TeachingRefusedError,
    decide,
    forget_taught,
    import_messages,
    offer_tools,
    open_proposals,
    propose_messages,
    shown_messages,
    taught_figures,
)

AT_ONCE = 10  # proposals on a page: each is a selection
PAGE_SIZE = 50
LATER, CONFIRM, DROP = "later", "confirm", "drop"
_DECISIONS = (
    (LATER, gettext_lazy("Later")),
    (CONFIRM, gettext_lazy("Confirm")),
    (DROP, gettext_lazy("Drop")),
)
_MOST_LINES = 200
_NUMBERS = (("25", "25"), ("50", "50"))


class ProposeForm(forms.Form):
    """Number of messages to propose."""

    number = forms.ChoiceField(choices=_NUMBERS)


class ImportForm(forms.Form):
    """Messages to import, a line each, pasted or in a file."""

    lines = forms.CharField(
        label=gettext_lazy("Messages, one per line"),
        required=False,
        max_length=200_000,
        widget=forms.Textarea(attrs={"class": "input", "rows": 4}),
    )
    file = TextFileField(
        label=gettext_lazy("Or a text file"),
        required=False,
        widget=forms.FileInput(attrs={"class": "input", "accept": ".txt,text/plain"}),
    )

    def clean(self) -> dict[str, Any]:
        """Join both into lines."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        texts = (data.get("lines") or "", data.get("file") or "")
        lines = [line for text in texts for line in text.splitlines() if line.strip()]
        if not self.errors and not lines:
            self.add_error("lines", _("Paste messages, or choose a file."))
        if len(lines) > _MOST_LINES:
            problem = _("At most %(number)s messages at once.") % {"number": _MOST_LINES}
            self.add_error("lines", problem)
        data["found"] = lines
        return data


@dataclass(frozen=True, slots=True)
class ProposalRow:
    """A proposal as it is shown, with what was sent for it where that was refused."""

    proposal: TaughtMessage
    offers: tuple[OfferedTool, ...]
    words: str
    decision: str
    others: str
    wrong: Mapping[str, str]


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
@with_query
def teach(request: PageRequest, query: InsightsQuery) -> HttpResponse:
    """Show proposals and taught messages of the admin's current group, and save decisions."""
    caller = query.frame.caller
    if caller is None:
        return render_page(request, "no_group.html", {"title": _("Insights")}, frame=query.frame)
    if request.method == "POST":
        action = {"propose": _propose, "import": _import, "save": _save, "forget": _forget}.get(
            request.POST.get("do", "")
        )
        return (
            action(request, query, caller) if action else _show(request, query, caller, status=422)
        )
    return _show(request, query, caller)


def _propose(request: PageRequest, query: InsightsQuery, caller: Caller) -> HttpResponse:
    form = ProposeForm(request.POST)
    if not form.is_valid():
        return _show(request, query, caller, status=422)
    number = propose_messages(caller=caller, most=int(form.cleaned_data["number"]))
    return _proposed(request, number)


def _import(request: PageRequest, query: InsightsQuery, caller: Caller) -> HttpResponse:
    form = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return _show(request, query, caller, imported=form, status=422)
    return _proposed(request, import_messages(caller=caller, lines=form.cleaned_data["found"]))


def _proposed(request: PageRequest, number: int) -> HttpResponse:
    message = ngettext("%(number)s new message.", "%(number)s new messages.", number)
    messages.success(request, message % {"number": number} if number else _("No new messages."))
    return redirect("insights-teach")


def _save(request: PageRequest, query: InsightsQuery, caller: Caller) -> HttpResponse:
    decisions: dict[UUID, Decision] = {}
    for proposal in open_proposals(caller)[:AT_ONCE]:
        sent = request.POST.get(f"decision-{proposal.pk}")
        if sent == DROP:
            decisions[proposal.pk] = Decision()
        elif sent == CONFIRM:
            others = request.POST.get(f"others-{proposal.pk}", "").replace(",", " ").split()
            names = tuple(
                dict.fromkeys(
                    name[:200] for name in [*request.POST.getlist(f"tool-{proposal.pk}"), *others]
                )
            )
            if not names:
                wrong = {proposal.pk: {"tools": _("Choose a tool, or drop the message.")}}
                return _show(request, query, caller, wrong=wrong, status=422)
            message = request.POST.get(f"message-{proposal.pk}", "").replace("\x00", "")
            decisions[proposal.pk] = Decision(message, names)
    try:
        taught = decide(by=request.user, caller=caller, decisions=decisions)
    except TeachingRefusedError as refused:
        wrong = {refused.pk: {refused.field: str(refused)}}
        return _show(request, query, caller, wrong=wrong, status=422)
    text = ngettext("%(number)s message taught.", "%(number)s messages taught.", taught)
    messages.success(request, text % {"number": taught} if taught else _("Saved."))
    return redirect("insights-teach")


def _forget(request: PageRequest, query: InsightsQuery, caller: Caller) -> HttpResponse:
    try:
        pk = UUID(request.POST.get("message", ""))
    except ValueError:
        return _show(request, query, caller, status=422)
    number = forget_taught(by=request.user, caller=caller, pk=pk)
    message = ngettext("%(number)s message forgotten.", "%(number)s messages forgotten.", number)
    messages.success(request, message % {"number": number})
    return redirect("insights-teach")


def _show(
    request: PageRequest,
    query: InsightsQuery,
    caller: Caller,
    *,
    wrong: Mapping[UUID, Mapping[str, str]] | None = None,
    imported: ImportForm | None = None,
    status: int = 200,
) -> HttpResponse:
    proposals = open_proposals(caller)
    page = Paginator(shown_messages(caller).prefetch_related("tools"), PAGE_SIZE).get_page(
        request.GET.get("page")
    )
    sent = request.POST if wrong else None
    rows = [
        _row(caller, proposal, sent, (wrong or {}).get(proposal.pk, {}))
        for proposal in proposals[:AT_ONCE]
    ]
    context = {
        "rows": rows,
        "open": proposals.count(),
        "numbers": [number for number, _label in _NUMBERS],
        "import_form": imported or ImportForm(),
        "taught": page.object_list,
        "page": page,
        "figures": taught_figures(caller),
        "learned": review(caller=caller),
        "decisions": _DECISIONS,
        "group": query.frame.group,
        "ever": True,
    }
    return render_insights(request, query, "teach.html", context, tab=TEACH, status=status)


def _row(
    caller: Caller, proposal: TaughtMessage, sent: QueryDict | None, wrong: Mapping[str, str]
) -> ProposalRow:
    offers = offer_tools(caller, proposal)
    if sent is None:
        return ProposalRow(proposal, tuple(offers), proposal.message, LATER, "", wrong)
    pk, chosen_names = proposal.pk, set(sent.getlist(f"tool-{proposal.pk}"))
    chosen = tuple(
        OfferedTool(
            offer.full_name, offer.display_name, offer.why, chosen=offer.full_name in chosen_names
        )
        for offer in offers
    )
    return ProposalRow(
        proposal,
        chosen,
        sent.get(f"message-{pk}", proposal.message),
        sent.get(f"decision-{pk}", LATER),
        sent.get(f"others-{pk}", ""),
        wrong,
    )
