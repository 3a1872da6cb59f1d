"""Pages of approvals: pending calls, one call with its arguments, and decided calls."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods

from acl.actor import CredentialKind
from acl.rights.approvers import NOBODY_ELSE
from acl.rights.delegation import acts_for_others
from acl.web.frame import Frame, PageRequest, frame_of, render_page
from catalog.access.pages.access_forms import SearchForm
from discovery.calls.approvals import (
    CannotDecideError,
    MayNotDecideError,
    approvals_of,
    approve_call,
    check_eligibility,
    decided,
    reject_call,
    waiting,
)
from discovery.calls.arguments import (
    compare_with_last_approved,
    digest_of,
    list_uncompared,
    render_call,
)
from discovery.calls.queries import (
    TooLateError,
    cancel_call,
    find_call,
    list_acts_of_others,
    list_own_calls,
)
from discovery.models import Call


class ApproveForm(forms.Form):
    """Approval of a call as displayed."""

    digest = forms.CharField(max_length=64)
    note = forms.CharField(required=False, max_length=500)


class RejectForm(forms.Form):
    """Rejection of a call, with a reason."""

    note = forms.CharField(
        max_length=500,
        error_messages={
            "required": gettext_lazy("Give a reason, so that the requester knows what to do.")
        },
    )


PAGE_SIZE = 50


@login_required
@require_GET
def approvals(request: PageRequest) -> HttpResponse:
    """Show pending calls, oldest first, or decided ones; staff see all, others their own."""
    frame, form = frame_of(request), SearchForm(request.GET)
    show = request.GET.get("show", "")
    if not request.user.is_staff or show == "own":
        acts = list_acts_of_others(user=request.user)
        own_context = {"calls": list_own_calls(caller=frame.caller), "acts": acts, "show": "own"}
        return render_page(request, "calls/approvals.html", own_context, frame=frame)
    matching = _filter(approvals_of(request.user), show, form.words())
    count = matching.count()
    pages = max(1, -(-count // PAGE_SIZE))
    page = min(form.page_number(), pages)
    calls = list(matching[(page - 1) * PAGE_SIZE : page * PAGE_SIZE])
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
    """Show a call. An approver can approve or reject it; its asker can cancel it."""
    call, decides = _find_call(request, pk)
    approve_form = ApproveForm(request.POST if "approve" in request.POST else None)
    reject_form = RejectForm(request.POST if "reject" in request.POST else None)
    problem = ""
    if request.method == "POST":
        try:
            if message := _act(request, call, decides, approve_form, reject_form):
                messages.success(request, message)
                return redirect("approvals")
        except (CannotDecideError, MayNotDecideError, TooLateError) as refused:
            problem = str(refused)
            call, decides = _find_call(request, pk)
    context = _context(request, call, decides)
    context |= {"yes": approve_form, "no": reject_form, "problem": problem}
    status = 409 if problem else 422 if approve_form.errors or reject_form.errors else 200
    frame: Frame = frame_of(request)
    template = "calls/approval.html"
    return render_page(request, template, context, frame=frame, status=status)


def _act(
    request: PageRequest,
    call: Call,
    decides: bool,
    approve_form: ApproveForm,
    reject_form: RejectForm,
) -> str:
    """Carry out the submitted action; return what was done, or "" if a form has errors."""
    if "cancel" in request.POST and _is_requester(request.user, call):
        cancel_call(by=request.user, call=call)
        return _("The call was cancelled. Nothing has been run.")
    if decides and approve_form.is_valid():
        data = approve_form.cleaned_data
        approve_call(by=request.user, call=call, digest=data["digest"], note=data["note"])
        return _("%(tool)s was approved for %(user)s.") % {
            "tool": call.full_name,
            "user": call.user,
        }
    if decides and reject_form.is_valid():
        reject_call(by=request.user, call=call, note=reject_form.cleaned_data["note"])
        return _("%(tool)s was rejected. %(user)s can see the reason.") % {
            "tool": call.full_name,
            "user": call.user,
        }
    return ""


def _find_call(request: PageRequest, pk: UUID) -> tuple[Call, bool]:
    """Return the call, and True if the person is an approver. Others' calls give 404."""
    if request.user.is_staff:
        call = approvals_of(request.user).filter(pk=pk).first()
        if call is not None:
            return call, True
    own_call = find_call(principal=request.user, pk=pk)
    if own_call is None or not own_call.needs_approval:
        raise Http404
    return own_call, False


def _context(request: PageRequest, call: Call, decides: bool) -> dict[str, Any]:
    waits = waiting(Call.objects.filter(pk=call.pk)).exists()  # it may have expired
    verdict = check_eligibility(by=request.user, calls=[call])[call.pk]
    is_own = _is_requester(request.user, call)
    rendering = render_call(call)
    # Only approvers may see other people's earlier calls.
    comparison = compare_with_last_approved(call) if decides else None
    return {
        "call": call,
        "rendering": rendering,
        "comparison": comparison,
        "differences": comparison.differences if comparison else list_uncompared(rendering),
        "digest": digest_of(call),
        # In a template, `call.flow.values` is a dictionary's method where the guard noted none.
        "flow_values": (call.flow or {}).get("values", []),
        "waits": waits,
        "decides": decides,
        "own": is_own,
        "why_not": verdict.objection if decides and waits else "",
        "nobody_else": _(NOBODY_ELSE) if verdict.stuck and waits else "",
    }


def _with_verdicts(person: User, calls: list[Call]) -> list[Call]:
    """Attach to each call this person's eligibility to decide about it."""
    verdicts = check_eligibility(by=person, calls=calls)
    for call in calls:
        call.verdict = verdicts[call.pk]  # type: ignore[attr-defined]
    return calls


def _is_requester(person: User, call: Call) -> bool:
    """Return True for the person's own calls and for those they requested as another person."""
    is_session_actor = call.actor_id == person.pk and call.credential == CredentialKind.SESSION
    return call.user_id == person.pk or (is_session_actor and acts_for_others(person))


def _filter(calls: "QuerySet[Call]", show: str, words: str) -> "QuerySet[Call]":
    for word in words.split()[:8]:
        calls = calls.filter(full_name__icontains=word) | calls.filter(
            user__username__icontains=word
        )
    return decided(calls) if show == "decided" else waiting(calls)
