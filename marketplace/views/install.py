"""Beginning an installation: look at what it needs and does, choose who gets it, confirm."""

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from catalog.mcp_client.commands import CommandNotAllowedError
from catalog.outgoing.problems import EndpointNotAllowedError
from discovery.views.access.admins import admins_only, posted
from discovery.views.frame import PageRequest, frame_of, render_page
from marketplace.install_forms import InstallForm
from marketplace.models import Installation
from marketplace.services.installs import (
    AlreadyThereError,
    InProgressError,
    ListingHeldError,
    NotPermittedError,
    OtherAddressError,
    OtherRequestError,
    OtherThingError,
    start_install,
)
from marketplace.services.listing_details import listing_details
from marketplace.services.listing_reviews import review_of
from marketplace.services.preparing import Prepared, Receivers, find_receivers, prepare_install
from marketplace.viewing import Viewer

MOST_GAPS = 20
_REFUSED = (
    CommandNotAllowedError,
    EndpointNotAllowedError,
    ListingHeldError,
    OtherAddressError,
    OtherRequestError,
)


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def install(request: PageRequest, slug: str) -> HttpResponse:
    """Configure it; a POST begins. Sent twice with one key, it is one installation."""
    details = listing_details(viewer=Viewer(is_admin=True), slug=slug)
    if details is None:
        raise Http404
    prepared = prepare_install(
        by=request.user,
        listing=details.listing,
        version=request.GET.get("version", "")[:80],
        filled=request.GET.getlist("fill")[:MOST_GAPS],
    )
    if prepared is None:
        raise Http404
    if request.method != "POST" and details.is_taken:
        return redirect("listing", slug)
    form = InstallForm(posted(request), prepared=prepared)
    # Without scripts, looking for groups sends the form.
    sent = request.method == "POST" and "find" not in request.POST
    if sent and form.is_valid():
        try:
            return redirect("installation", _begin(request, prepared, form).public_id)
        except OtherThingError as other:
            form.add_error(None, str(other))
        except AlreadyThereError:
            form.add_error(None, "It is installed already, or being installed by somebody.")
        except NotPermittedError:
            form.add_error(None, "You may not install this. Nothing has begun.")
        except _REFUSED as refused:
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
    page = "marketplace/install.html"
    frame = frame_of(request)
    return render_page(request, page, context, frame=frame, status=422 if sent else 200)


@admins_only
@require_GET
def receivers(request: PageRequest) -> HttpResponse:
    """The groups and spaces whose names fit, for the form; what is ticked stays."""
    context = {"receivers": _receivers(request.GET)}
    return render_page(request, "marketplace/_receivers.html", context, frame=frame_of(request))


def _receivers(sent: QueryDict) -> Receivers:
    ticked = {
        name: [int(pk) for pk in sent.getlist(name) if pk.isdecimal() and len(pk) < 12]
        for name in ("groups", "spaces")
    }
    return find_receivers(words=sent.get("group_q", "")[:150], **ticked)


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
