"""Approvals: what waits for a person, one of them with its arguments, and what was decided."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from acl.actor.chain import CredentialKind
from acl.delegation import acts_for_others
from acl.pages.frame import Frame, PageRequest, frame_of, render_page
from catalog.access.pages.access_forms import SearchForm
from discovery.calls.approvals import (
    CannotDecideError,
    MayNotDecideError,
    approvals_of,
    approve_call,
    decided,
    reject_call,
    verdicts_for,
    waiting,
)
from discovery.calls.approvers import NOBODY_ELSE
from discovery.calls.argument_text import render_call
from discovery.calls.call_differences import compare_with_last_approved, uncompared
from discovery.calls.call_digests import digest_of
from discovery.calls.call_queries import (
    TooLateError,
    cancel_call,
    find_call,
    list_acts_of_others,
    list_own_calls,
)
from discovery.models import Call
from discovery.pages.approval_forms import ApproveForm, RejectForm

PAGE_SIZE = 50


@login_required
@require_GET
def approvals(request: PageRequest) -> HttpResponse:
    """What waits, the oldest first, or what was decided; others than the staff see their own."""
    frame, form = frame_of(request), SearchForm(request.GET)
    show = request.GET.get("show", "")
    if not request.user.is_staff or show == "own":
        acts = list_acts_of_others(user=request.user)
        own = {"calls": list_own_calls(caller=frame.caller), "acts": acts, "show": "own"}
        return render_page(request, "calls/approvals.html", own, frame=frame)
    found = _found(approvals_of(request.user), show, form.words())
    count = found.count()
    pages = max(1, -(-count // PAGE_SIZE))
    page = min(form.page_number(), pages)
    calls = list(found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE])
    context = {
        "show": "decided" if show == "decided" else "waiting",
        "form": form,
        "calls": _with_verdicts(request.user, calls) if show != "decided" else calls,
        "found": {"count": count, "page": page, "pages": pages},
    }
    template = "calls/approvals.html" + ("#found" if request.htmx else "")
    return render_page(request, template, context, frame=frame)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def approval(request: PageRequest, pk: UUID) -> HttpResponse:
    """One call: who decides says yes or no, who asked may take it back."""
    call, decides = _one(request, pk)
    yes = ApproveForm(request.POST if "approve" in request.POST else None)
    no = RejectForm(request.POST if "reject" in request.POST else None)
    problem = ""
    if request.method == "POST":
        try:
            if said := _act(request, call, decides, yes, no):
                messages.success(request, said)
                return redirect("approvals")
        except (CannotDecideError, MayNotDecideError, TooLateError) as refused:
            problem = str(refused)
            call, decides = _one(request, pk)
    context = _context(request, call, decides)
    context |= {"yes": yes, "no": no, "problem": problem}
    status = 409 if problem else 422 if yes.errors or no.errors else 200
    frame: Frame = frame_of(request)
    template = "calls/approval.html"
    return render_page(request, template, context, frame=frame, status=status)


def _act(request: PageRequest, call: Call, decides: bool, yes: ApproveForm, no: RejectForm) -> str:
    """What was done, in words; nothing where a form is to be looked at once more."""
    if "cancel" in request.POST and _asked_by(request.user, call):
        cancel_call(by=request.user, call=call)
        return "The call is taken back. Nothing has been run."
    if decides and yes.is_valid():
        data = yes.cleaned_data
        approve_call(by=request.user, call=call, digest=data["digest"], note=data["note"])
        return f"{call.full_name} is approved for {call.user}."
    if decides and no.is_valid():
        reject_call(by=request.user, call=call, note=no.cleaned_data["note"])
        return f"{call.full_name} is rejected. {call.user} sees why."
    return ""


def _one(request: PageRequest, pk: UUID) -> tuple[Call, bool]:
    """The call, and whether the person is one of those who decide; 404 where it is not theirs."""
    if request.user.is_staff:
        call = approvals_of(request.user).filter(pk=pk).first()
        if call is not None:
            return call, True
    own = find_call(principal=request.user, pk=pk)
    if own is None or not own.needs_approval:
        raise Http404
    return own, False


def _context(request: PageRequest, call: Call, decides: bool) -> dict[str, Any]:
    waits = waiting(Call.objects.filter(pk=call.pk)).exists()  # its time may be over
    verdict = verdicts_for(by=request.user, calls=[call])[call.pk]
    own = _asked_by(request.user, call)
    rendering = render_call(call)
    # What others have asked for is for those who decide.
    comparison = compare_with_last_approved(call) if decides else None
    return {
        "call": call,
        "rendering": rendering,
        "comparison": comparison,
        "differences": comparison.differences if comparison else uncompared(rendering),
        "digest": digest_of(call),
        "waits": waits,
        "decides": decides,
        "own": own,
        "why_not": verdict.objection if decides and waits else "",
        "nobody_else": NOBODY_ELSE if verdict.stuck and waits else "",
    }


def _with_verdicts(person: User, calls: list[Call]) -> list[Call]:
    """Add to each call whether this person may decide about it, and whether anybody could."""
    verdicts = verdicts_for(by=person, calls=calls)
    for call in calls:
        call.verdict = verdicts[call.pk]  # type: ignore[attr-defined]
    return calls


def _asked_by(person: User, call: Call) -> bool:
    """Return True if it is the person's own call, or one that they asked for as another person."""
    asked = call.actor_id == person.pk and call.credential == CredentialKind.SESSION
    return call.user_id == person.pk or (asked and acts_for_others(person))


def _found(calls: "QuerySet[Call]", show: str, words: str) -> "QuerySet[Call]":
    for word in words.split()[:8]:
        calls = calls.filter(full_name__icontains=word) | calls.filter(
            user__username__icontains=word
        )
    return decided(calls) if show == "decided" else waiting(calls)
