"""Servers that assistants have proposed: an admin installs one, or says why not."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_GET, require_POST

from catalog.models import ServerProposal
from catalog.outgoing.problems import EndpointNotAllowedError
from catalog.services.proposals import (
    AnsweredError,
    answer_proposal,
    answered_proposals,
    open_proposals,
)
from discovery.views.access.admins import admins_only
from discovery.views.frame import PageRequest, frame_of, render_page
from marketplace.services.installs import AlreadyThereError, InProgressError, OtherThingError
from marketplace.services.proposals import install_proposed

PAGE = 50
TAKEN = "A server of this name is installed already, or being installed."


@admins_only
@require_GET
def proposals(request: PageRequest) -> HttpResponse:
    """Those that wait, the oldest first; or those that have an answer."""
    return _show(request)


@admins_only
@require_POST
def answer(request: PageRequest, pk: int) -> HttpResponse:
    """Install it, or say no with a note."""
    proposal = get_object_or_404(ServerProposal.objects.select_related("user", "group"), pk=pk)
    note = request.POST.get("note", "").replace("\x00", "")
    try:
        if request.POST.get("decision") == "install":
            for_group = bool(request.POST.get("for_group"))
            begun = install_proposed(
                by=request.user, proposal=proposal, for_group=for_group, note=note
            )
            return redirect("installation", begun.public_id)
        answer_proposal(by=request.user, proposal=proposal, approve=False, note=note)
    except AnsweredError:
        return _show(request, problem="Somebody else has answered it.", status=409)
    except OtherThingError as other:
        return _show(request, problem=str(other), status=409)
    except (AlreadyThereError, InProgressError):
        return _show(request, problem=TAKEN, status=409)
    except EndpointNotAllowedError as refused:
        return _show(request, problem=str(refused), status=409)
    messages.success(request, f"{proposal.name} is declined.")
    return redirect("proposals")


def _show(request: PageRequest, *, problem: str = "", status: int = 200) -> HttpResponse:
    answered = request.GET.get("show") == "answered"
    rows = answered_proposals() if answered else open_proposals()
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    context = {
        "answered": answered,
        "proposals": page.object_list,
        "count": page.paginator.count,
        "found": {"page": page.number, "pages": page.paginator.num_pages},
        "problem": problem,
    }
    template = "marketplace/proposals.html"
    return render_page(request, template, context, frame=frame_of(request), status=status)
