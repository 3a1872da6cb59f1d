"""The page to add anything: admins add it, everyone else proposes it."""

from uuid import UUID, uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import Group
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from acl.models import Space
from acl.web.frame import PageRequest, admins_only, frame_of, posted, render_page
from catalog.models import ServerProposal
from catalog.servers.net.address_check import EndpointNotAllowedError
from catalog.servers.net.private_hosts import MOST_CHARACTERS, allow_private_host, closed_host
from catalog.servers.proposals import AnsweredError, ProposalRefusedError, list_open_proposals
from marketplace.additions._together import (
    LONGEST_VALUE,
    MOST_TOGETHER,
    Order,
    ask_for,
    find_together,
    install_together,
    read_parts,
)
from marketplace.additions.recognition import (
    LONGEST_DOCUMENT,
    NotRecognisedError,
    WhichIndexError,
)
from marketplace.additions.requests import add, propose
from marketplace.installs.preparation import find_receivers
from marketplace.listings.viewer import Viewer, visible_listings
from marketplace.models import Addition
from marketplace.offers.offer import read_package_test

MOST_ANSWERS = 500


class AddForm(forms.Form):
    """Form for something pasted, and its name."""

    what = forms.CharField(max_length=LONGEST_DOCUMENT)
    name = forms.CharField(max_length=60, required=False)
    address = forms.CharField(max_length=500, required=False)
    index = forms.ChoiceField(choices=[("pypi", "PyPI"), ("npm", "npm")], required=False)
    why = forms.CharField(max_length=500, required=False)
    allow = forms.CharField(max_length=MOST_CHARACTERS, required=False)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def add_anything(request: PageRequest) -> HttpResponse:
    """Show the box, or recognise what was pasted and go on with it."""
    frame = frame_of(request)
    is_admin = bool(request.user.is_staff)
    proposal = _proposal(request) if is_admin else None
    form = AddForm(posted(request), initial=_first_values(request, proposal) if is_admin else None)
    asks_index, closed = False, ""
    if request.method == "POST" and form.is_valid():
        try:
            if not is_admin:
                return _propose(request, form)
            return _add(request, form, proposal)
        except WhichIndexError as which:
            asks_index = True
            form.add_error("what", str(which))
        except NotRecognisedError as unknown:
            form.add_error("what", str(unknown))
        except EndpointNotAllowedError as refused:
            closed = _closed_host(form) if is_admin else ""
            mine = _("This address is not public. Pegboard contacts it only once you allow it.")
            form.add_error("what", mine if closed else str(refused))
        except ProposalRefusedError as refused:
            form.add_error("what", refused.reason)
        except AnsweredError:
            form.add_error(None, _("Someone else has already answered this proposal."))
    context = {
        "form": form,
        "is_admin": is_admin,
        "asks_index": asks_index,
        "closed_host": closed,
        "proposal": proposal,
        "latest": Addition.objects.filter(by=request.user)[:5] if is_admin else [],
    }
    status = 422 if request.method == "POST" else 200
    return render_page(request, "additions/add.html", context, frame=frame, status=status)


@admins_only
@require_GET
def addition(request: PageRequest, public_id: UUID) -> HttpResponse:
    """Show what it is. htmx polls while a worker looks, and gets 204 until it has."""
    row = get_object_or_404(Addition, public_id=public_id)
    if request.htmx and row.state == Addition.State.LOOKING:
        return HttpResponse(status=204)
    listing = visible_listings(Viewer(is_admin=True)).filter(slug=row.listing).first()
    template = "additions/addition.html" + ("#outcome" if request.htmx else "")
    test = read_package_test(listing.details) if listing else None
    was_refused = row.reason in ("endpoint_not_allowed", "not_allowed")
    closed = closed_host(row.address, was_refused=True) if was_refused else ""
    context = {"addition": row, "listing": listing, "test": test, "closed_host": closed}
    return render_page(request, template, context, frame=frame_of(request))


def _closed_host(form: AddForm) -> str:
    """Return the host that an admin would have to allow for what was pasted, or ""."""
    pasted = (form.cleaned_data["address"], form.cleaned_data["what"].strip())
    return next(filter(None, map(closed_host, filter(None, pasted))), "")


def _add(request: PageRequest, form: AddForm, proposal: ServerProposal | None) -> HttpResponse:
    data = form.cleaned_data
    if data["allow"] and data["allow"] == _closed_host(form):
        allow_private_host(by=request.user, text=data["allow"])
        messages.success(request, _("%(host)s is allowed.") % {"host": data["allow"]})
    added = add(
        by=request.user,
        text=data["what"],
        name=data["name"],
        index=data["index"],
        api_address=data["address"],
        proposal=proposal,
    )
    if len(added) > 1:
        # In the answer itself: what the file offers is in no row and no address.
        return _show_together(request, added, text=data["what"])
    return redirect("addition", added[0].public_id)


class TogetherForm(forms.Form):
    """Choices of an admin for all servers of a configuration."""

    of = forms.CharField(max_length=MOST_TOGETHER * 37)
    key = forms.UUIDField()
    has_read = forms.BooleanField(required=False)
    groups = forms.ModelMultipleChoiceField(Group.objects.order_by("name", "pk"), required=False)
    spaces = forms.ModelMultipleChoiceField(
        Space.objects.filter(parent__isnull=False).order_by("pk"), required=False
    )

    def order(self, sent: QueryDict) -> Order:
        """Return the valid form as what to install, for whom, and with which secrets."""
        answers: dict[str, dict[str, str]] = {}
        lists = (sent.getlist(name)[:MOST_ANSWERS] for name in ("name", "value", "for"))
        for name, value, slugs in zip(*lists, strict=False):
            for slug in slugs.split():
                answers.setdefault(slug, {})[name] = value.strip()[:LONGEST_VALUE]
        confirmed = {
            name.removeprefix("confirmed-"): str(value)
            for name, value in sent.items()
            if name.startswith("confirmed-")
        }
        data = self.cleaned_data
        places = (tuple(data["groups"]), tuple(data["spaces"]))
        return Order(answers, confirmed, *places, key=str(data["key"]))


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def together(request: PageRequest) -> HttpResponse:
    """Show the servers of one configuration and how far each is, or install those chosen."""
    rows = find_together(request.POST.get("of", "") or request.GET.get("of", ""))
    if not rows:
        raise Http404
    form = TogetherForm(posted(request))
    if request.method != "POST" or "find" in request.POST:
        return _show_together(request, rows)
    chosen = set(request.POST.getlist("chosen"))
    parts = [part for part in read_parts(request.user, rows) if part.slug in chosen]
    if not form.is_valid():
        raise Http404
    runs = any(part.prepared and part.prepared.digest for part in parts)
    if runs and not form.cleaned_data["has_read"]:
        form.add_error("has_read", _("Read the commands and confirm them."))
    elif not parts:
        form.add_error(None, _("Select at least one server."))
    else:
        problems = install_together(by=request.user, parts=parts, order=form.order(request.POST))
        for title, reason in problems.items():
            messages.warning(request, f"{title}: {reason}")
        return redirect(f"{reverse('add-together')}?of={form.cleaned_data['of']}")
    return _show_together(request, rows, form=form)


def _show_together(
    request: PageRequest,
    rows: list[Addition],
    *,
    text: str = "",
    form: TogetherForm | None = None,
) -> HttpResponse:
    parts = read_parts(request.user, rows)
    selected = {
        name: [int(pk) for pk in request.POST.getlist(name) if _is_key(pk)]
        for name in ("groups", "spaces")
    }
    context = {
        "parts": parts,
        "ready": [part for part in parts if part.is_ready],
        "questions": ask_for(parts, text),
        "of": ",".join(str(row.public_id) for row in rows),
        "key": str(uuid4()),
        "form": form,
        "is_under_way": any(part.is_under_way for part in parts),
        "has_programs": any(part.prepared and part.prepared.digest for part in parts),
        "receivers": find_receivers(
            words=request.POST.get("group_q", "")[:150], suggest=form is None, **selected
        ),
    }
    template = "additions/together.html" + ("#parts" if request.htmx else "")
    status = 422 if form is not None else 200
    return render_page(request, template, context, frame=frame_of(request), status=status)


def _propose(request: PageRequest, form: AddForm) -> HttpResponse:
    caller = frame_of(request).caller
    if caller is None:
        raise NotRecognisedError(_("Only members of a group can propose something."))
    data = form.cleaned_data
    proposal = propose(caller=caller, text=data["what"], name=data["name"], reason=data["why"])
    messages.success(request, _("%(name)s was proposed to the admins.") % {"name": proposal.name})
    return redirect("add-anything")


def _first_values(request: PageRequest, proposal: ServerProposal | None) -> dict[str, str]:
    """Return what the box has at first: a proposal, or an addition that is to be named anew."""
    if proposal is not None:
        return {"what": proposal.wanted or proposal.endpoint}
    pk = request.GET.get("again", "")
    again = Addition.objects.filter(pk=int(pk)).first() if _is_key(pk) else None
    return {"what": again.address, "name": again.name} if again is not None else {}


def _is_key(text: str) -> bool:
    return text.isdecimal() and len(text) <= 15


def _proposal(request: PageRequest) -> ServerProposal | None:
    pk = request.GET.get("proposal", "") or request.POST.get("proposal", "")
    if not _is_key(pk):
        return None
    return list_open_proposals().filter(pk=int(pk)).first()
