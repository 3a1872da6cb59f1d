"""Pages of servers that assistants have proposed: an admin installs or declines them."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from acl.web.frame import PageRequest, frame_of, render_page
from acl.web.staff_pages import admins_only
from catalog.models import ServerProposal
from catalog.servers.net.address_check import EndpointNotAllowedError
from catalog.servers.proposals import (
    AnsweredError,
    answer_proposal,
    list_answered_proposals,
    list_open_proposals,
)
from marketplace.installs._proposals import install_proposed
from marketplace.installs.requests import AlreadyInstalledError, InProgressError, NameTakenError

PAGE = 50
TAKEN = gettext_lazy("A server of this name is already installed, or being installed.")


@admins_only
@require_GET
def proposals(request: PageRequest) -> HttpResponse:
    """Show open proposals, oldest first, or answered ones."""
    return _show(request)


@admins_only
@require_POST
def answer(request: PageRequest, pk: int) -> HttpResponse:
    """Install the server, or decline it with a note."""
    proposal = get_object_or_404(ServerProposal.objects.select_related("user", "group"), pk=pk)
    note = request.POST.get("note", "").replace("\x00", "")
    try:
        if request.POST.get("decision") == "install":
            for_group = bool(request.POST.get("for_group"))
            installation = install_proposed(
                by=request.user, proposal=proposal, for_group=for_group, note=note
            )
            return redirect("installation", installation.public_id)
        answer_proposal(by=request.user, proposal=proposal, approve=False, note=note)
    except AnsweredError:
        return _show(
            request, problem=_("Someone else has already answered this proposal."), status=409
        )
    except NameTakenError as other:
        return _show(request, problem=str(other), status=409)
    except (AlreadyInstalledError, InProgressError):
        return _show(request, problem=str(TAKEN), status=409)
    except EndpointNotAllowedError as refused:
        return _show(request, problem=str(refused), status=409)
    messages.success(request, _("%(name)s was declined.") % {"name": proposal.name})
    return redirect("proposals")


def _show(request: PageRequest, *, problem: str = "", status: int = 200) -> HttpResponse:
    answered = request.GET.get("show") == "answered"
    rows = list_answered_proposals() if answered else list_open_proposals()
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    context = {
        "answered": answered,
        "proposals": page.object_list,
        "count": page.paginator.count,
        "found": {"page": page.number, "pages": page.paginator.num_pages},
        "problem": problem,
    }
    template = "installs/proposals.html"
    return render_page(request, template, context, frame=frame_of(request), status=status)
