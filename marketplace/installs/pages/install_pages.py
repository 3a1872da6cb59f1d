"""Page that starts an installation: shows its needs and effects, receivers, and the command."""

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from acl.pages.frame import PageRequest, frame_of, render_page
from acl.pages.staff_pages import admins_only, posted
from catalog.servers.client.launch_rules import CommandNotAllowedError
from catalog.servers.net.outgoing_errors import EndpointNotAllowedError
from marketplace.installs.install_preparation import (
    Prepared,
    Receivers,
    find_receivers,
    prepare_install,
)
from marketplace.installs.install_requests import (
    AlreadyInstalledError,
    InProgressError,
    ListingHeldError,
    NameTakenError,
    NotPermittedError,
    OtherRequestError,
    TargetChangedError,
    start_install,
)
from marketplace.installs.pages.install_forms import InstallForm
from marketplace.listings.listing_details import listing_details
from marketplace.listings.listing_reviews import review_of
from marketplace.listings.viewer import Viewer
from marketplace.models import Installation

MAX_PLACEHOLDERS = 20
_REFUSALS = (
    CommandNotAllowedError,
    EndpointNotAllowedError,
    ListingHeldError,
    TargetChangedError,
    OtherRequestError,
)


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def install(request: PageRequest, slug: str) -> HttpResponse:
    """Show the form, or start the installation. Submitting it twice starts only one."""
    details = listing_details(viewer=Viewer(is_admin=True), slug=slug)
    if details is None:
        raise Http404
    prepared = prepare_install(
        by=request.user,
        listing=details.listing,
        version=request.GET.get("version", "")[:80],
        filled=request.GET.getlist("fill")[:MAX_PLACEHOLDERS],
    )
    if prepared is None:
        raise Http404
    if request.method != "POST" and details.is_taken:
        return redirect("listing", slug)
    form = InstallForm(posted(request), prepared=prepared)
    # Without JavaScript, the search for groups submits the form.
    sent = request.method == "POST" and "find" not in request.POST
    if sent and form.is_valid():
        try:
            return redirect("installation", _begin(request, prepared, form).public_id)
        except NameTakenError as other:
            form.add_error(None, str(other))
        except AlreadyInstalledError:
            form.add_error(None, "It is installed already, or being installed by somebody.")
        except NotPermittedError:
            form.add_error(None, "You may not install this. Nothing has begun.")
        except _REFUSALS as refused:
            form.add_error(None, str(refused))
        except InProgressError:
            return redirect("listing", slug)
    context = {
        "listing": details.listing,
        "review": review_of(details.listing),
        "prepared": prepared,
        "form": form,
        "receivers": _receivers(request.POST),
    }
    page = "installs/install.html"
    frame = frame_of(request)
    return render_page(request, page, context, frame=frame, status=422 if sent else 200)


@admins_only
@require_GET
def receivers(request: PageRequest) -> HttpResponse:
    """Render the groups and spaces that match the search; selected ones stay."""
    context = {"receivers": _receivers(request.GET)}
    return render_page(request, "installs/_receivers.html", context, frame=frame_of(request))


def _receivers(sent: QueryDict) -> Receivers:
    selected = {
        name: [int(pk) for pk in sent.getlist(name) if pk.isdecimal() and len(pk) < 12]
        for name in ("groups", "spaces")
    }
    return find_receivers(words=sent.get("group_q", "")[:150], **selected)


def _begin(request: PageRequest, prepared: Prepared, form: InstallForm) -> Installation:
    data = form.cleaned_data
    return start_install(
        by=request.user,
        descriptor=prepared.descriptor,
        groups=data["groups"],
        spaces=data["spaces"],
        secrets=form.secrets(),
        confirmed=data["confirmed"],
        idempotency_key=str(data["key"]),
    )
