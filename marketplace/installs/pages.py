"""Page that starts an installation: shows its needs and effects, receivers, and the command."""

import uuid
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import Group
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from acl.models import Space
from acl.web.frame import PageRequest, admins_only, frame_of, posted, render_page
from catalog.formats.openapi.api_choice import LONGEST, MOST
from catalog.models import ServerProposal
from catalog.servers.cell.allowed_hosts import NotAHostError, parse_hosts
from catalog.servers.cell.report import report_for
from catalog.servers.client.launch_rules import CommandNotAllowedError
from catalog.servers.net.address_check import EndpointNotAllowedError
from catalog.servers.proposals import (
    AnsweredError,
    answer_proposal,
    list_answered_proposals,
    list_open_proposals,
)
from catalog.servers.secrets.store import UnusableSecretError
from marketplace.installs.integration_management import install_proposed
from marketplace.installs.preparation import (
    Prepared,
    Receivers,
    Variable,
    find_receivers,
    prepare_install,
)
from marketplace.installs.requests import (
    AlreadyInstalledError,
    InProgressError,
    ListingHeldError,
    NameTakenError,
    NetworkWish,
    NotPermittedError,
    OtherRequestError,
    TargetChangedError,
    start_install,
)
from marketplace.listings.details import (
    OperationChoice,
    choose_operations,
    listing_details,
    with_choice,
)
from marketplace.listings.reviews import review_of
from marketplace.listings.viewer import Viewer, visible_listings
from marketplace.models import Installation, Listing

MAX_PLACEHOLDERS = 20
LONGEST_SECRET = 8_000
# A double click sends the form twice: the second waits for the first and shows its progress.
_DOUBLE_CLICK = timedelta(seconds=10)
_REFUSALS = (
    CommandNotAllowedError,
    EndpointNotAllowedError,
    ListingHeldError,
    TargetChangedError,
    OtherRequestError,
    UnusableSecretError,
)


class InstallForm(forms.Form):
    """Values of variables, receivers, and the confirmed command. `key` makes submits idempotent."""

    key = forms.UUIDField()
    groups = forms.ModelMultipleChoiceField(Group.objects.order_by("name", "pk"), required=False)
    spaces = forms.ModelMultipleChoiceField(
        Space.objects.filter(parent__isnull=False).order_by("pk"), required=False
    )
    confirmed = forms.CharField(required=False, max_length=64)
    hosts = forms.CharField(required=False, max_length=10_000)
    words = forms.CharField(required=False, max_length=LONGEST)
    limit = forms.IntegerField(required=False, min_value=1, max_value=MOST)
    whole_network = forms.CharField(required=False, max_length=2)

    def __init__(self, *args: Any, prepared: Prepared, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.prepared = prepared
        self.settable = [entry for entry in prepared.variables if not entry.refusal]
        self.refused = [entry for entry in prepared.variables if entry.refusal]
        for variable in self.settable:
            self.fields[_field_name(variable)] = forms.CharField(
                required=False, max_length=LONGEST_SECRET, strip=True, initial=variable.default
            )
        self.new_key = self.data.get("key") or str(uuid.uuid4())

    def clean_confirmed(self) -> str:
        """Require the digest of the command as it was shown. The service compares addresses."""
        confirmed: str = self.cleaned_data["confirmed"]
        if self.prepared.target_digest:
            return confirmed
        if confirmed != self.prepared.digest:
            raise forms.ValidationError(
                _("Confirm the command.")
                if not confirmed
                else _("The command has changed. Review it again.")
            )
        return confirmed

    def clean_hosts(self) -> list[str]:
        """Return the allowed hosts; a name that is none is an error."""
        try:
            return parse_hosts(self.cleaned_data["hosts"].split())
        except NotAHostError as problem:
            raise forms.ValidationError(str(problem)) from None

    @property
    def shown_hosts(self) -> str:
        """The hosts as they were sent, or else those to propose."""
        return self.data.get("hosts") or "\n".join(self.prepared.proposed_hosts)

    def secrets(self) -> dict[str, str]:
        """Return the values that were entered, by name."""
        values = {
            variable.name: self.cleaned_data[_field_name(variable)] for variable in self.settable
        }
        return {name: value for name, value in values.items() if value}

    def variable_fields(self) -> list[tuple[Variable, forms.BoundField]]:
        """Return the variables with their fields. Entered values are never rendered again."""
        return [(variable, self[_field_name(variable)]) for variable in self.settable]


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
            return redirect(
                "installation", _begin(request, details.listing, prepared, form).public_id
            )
        except NameTakenError as other:
            form.add_error(None, str(other))
        except AlreadyInstalledError:
            form.add_error(None, _("It is already installed, or being installed."))
        except NotPermittedError:
            form.add_error(None, _("You are not allowed to install this."))
        except _REFUSALS as refused:
            form.add_error(None, str(refused))
        except InProgressError:
            return redirect("listing", slug)
    context = {
        "listing": details.listing,
        "review": review_of(details.listing),
        "prepared": prepared,
        "form": form,
        "cells": report_for(prepared.descriptor.command),
        "operations": choose_sent(details.listing, request.POST),
        "receivers": _receivers(request.POST, suggest=not sent),
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


@admins_only
@require_GET
def operations(request: PageRequest, slug: str) -> HttpResponse:
    """Render the operations of an API that a choice means."""
    listing = get_object_or_404(visible_listings(Viewer(is_admin=True)), slug=slug)
    chosen = choose_sent(listing, request.GET)
    if chosen is None:
        raise Http404
    context = {"operations": chosen, "listing": listing}
    return render_page(request, "installs/_operations.html", context, frame=frame_of(request))


def choose_sent(listing: Listing, sent: QueryDict) -> OperationChoice | None:
    """Return the operations that a form's values choose; None for a listing that is no API."""
    limit = sent.get("limit", "")
    return choose_operations(
        listing,
        tags=[tag[:60] for tag in sent.getlist("tags")[:100]],
        words=sent.get("words", "").replace("\x00", "")[:LONGEST],
        limit=int(limit) if limit.isdecimal() and len(limit) < 6 else 0,
    )


def _receivers(sent: QueryDict, *, suggest: bool = False) -> Receivers:
    selected = {
        name: [int(pk) for pk in sent.getlist(name) if pk.isdecimal() and len(pk) < 12]
        for name in ("groups", "spaces")
    }
    return find_receivers(words=sent.get("group_q", "")[:150], suggest=suggest, **selected)


def _begin(
    request: PageRequest, listing: Listing, prepared: Prepared, form: InstallForm
) -> Installation:
    data = form.cleaned_data
    chosen = choose_sent(listing, request.POST)
    return start_install(
        by=request.user,
        descriptor=with_choice(prepared.descriptor, chosen.choice if chosen else None),
        groups=data["groups"],
        spaces=data["spaces"],
        secrets=form.secrets(),
        confirmed=data["confirmed"],
        network=NetworkWish(tuple(data["hosts"]), whole=data["whole_network"] == "on"),
        idempotency_key=str(data["key"]),
        wait=_DOUBLE_CLICK,
    )


def _field_name(variable: Variable) -> str:
    return f"variable-{variable.name}"


# Pages of servers that assistants have proposed: an admin installs or declines them.

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
