"""Pages of people, for admins: the list, invitations, deactivation, and groups."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import Group, User
from django.core.mail import EmailMessage
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext, gettext_lazy, ngettext, override
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from acl.models import Invitation, SignInGroup
from acl.people import people as service
from acl.people._invitations import (
    MOST_CHARACTERS,
    ReadList,
    add_all,
    invite,
    invite_all,
    list_open,
    read_list,
    read_table,
    withdraw,
)
from acl.people.forms import SHOWN, GroupForm, InviteForm, PeopleForm, SignInGroupForm
from acl.people.groups import GroupRefused, list_mapped_groups, map_group, unmap_group
from acl.people.languages import language_of
from acl.people.people import PeopleRefused, erase_person, export_person, list_people
from acl.platform.mail import delivers_mail, send_later
from acl.web.frame import PageRequest, admins_only, frame_of, posted, render_access, render_page
from acl.web.text_upload import TextFileField

# Mails with the links of invitations.


def send_invitation(request: HttpRequest, invitation: Invitation, raw: str) -> str:
    """Mail the link once the transaction is committed, and return it."""
    link = request.build_absolute_uri(reverse("invitation", args=[raw]))
    context = {"invitation": invitation, "link": link, "host": request.get_host()}
    with override(language_of(None)):  # what they read is known once they have signed in
        subject = render_to_string("account/email/invitation_subject.txt", context).strip()
        body = render_to_string("account/email/invitation_message.txt", context)
    send_later(EmailMessage(subject, body, to=[invitation.email]))
    return link


PER_PAGE = 50


@admins_only
@require_GET
def people_list(request: PageRequest) -> HttpResponse:
    """List people and open invitations."""
    form = PeopleForm(request.GET)
    filters = form.filters()
    page = Paginator(list_people(filters), PER_PAGE).get_page(form.page_number())
    context = {
        "form": form,
        "shown": SHOWN,
        "groups": Group.objects.order_by("name", "pk"),
        "people": page,
        "filtered": any((filters.words, filters.group, filters.show)),
        "invitations": list_open(),
    }
    template = "people/list.html" + ("#found" if request.htmx else "")
    return render_page(request, template, context, frame=frame_of(request))


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_groups(request: PageRequest) -> HttpResponse:
    """Show which values of the provider's claim give which groups, or add one."""
    form = SignInGroupForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            map_group(by=request.user, **form.cleaned_data)
        except GroupRefused as refused:
            form.add_error(None, str(refused))
        else:
            return redirect("sign-in-groups")
    context = {
        "form": form,
        "pairs": list_mapped_groups(),
        "groups": Group.objects.order_by("name", "pk"),
        "claim": settings.PEGBOARD_OIDC_GROUPS_CLAIM,
        "provider": settings.PEGBOARD_OIDC_ISSUER,
    }
    status = 422 if form.errors else 200
    page = "people/sign_in_groups.html"
    return render_page(request, page, context, frame=frame_of(request), status=status)


@admins_only
@require_POST
def remove_sign_in_group(request: PageRequest, pk: int) -> HttpResponse:
    """Remove a value of the provider's claim."""
    try:
        unmap_group(by=request.user, row=get_object_or_404(SignInGroup, pk=pk))
    except GroupRefused as refused:
        messages.error(request, str(refused))
    return redirect("sign-in-groups")


@admins_only
@require_GET
def person(request: PageRequest, pk: int) -> HttpResponse:
    """Show a person, with the possible actions; or all that is stored about them, as a file."""
    person_row = _find(pk)
    if "export" in request.GET:
        try:
            rows = export_person(by=request.user, person=person_row)
        except PeopleRefused as problem:
            messages.error(request, str(problem))
            return redirect("person", pk)
        name = f'attachment; filename="person-{pk}.json"'
        return JsonResponse(rows, headers={"Content-Disposition": name})
    return _person_page(request, person_row, GroupForm())


@admins_only
@require_POST
def join_group(request: PageRequest, pk: int) -> HttpResponse:
    """Add the person to a group."""
    person_row, form = _find(pk), GroupForm(request.POST)
    if not form.is_valid():
        return _person_page(request, person_row, form)
    group = form.cleaned_data["group"]
    done = _("%(user)s was added to %(group)s and may now use its tools.") % {
        "user": person_row.username,
        "group": group.name,
    }
    return _change(
        request,
        person_row,
        lambda: service.add_to_group(by=request.user, person=person_row, group=group),
        done,
    )


@admins_only
@require_POST
def leave_group(request: PageRequest, pk: int, group_pk: int) -> HttpResponse:
    """Take the person out of a group."""
    person_row, group = _find(pk), get_object_or_404(Group, pk=group_pk)
    done = _("%(user)s was removed from %(group)s and may no longer use its tools.") % {
        "user": person_row.username,
        "group": group.name,
    }
    return _change(
        request,
        person_row,
        lambda: service.take_out_of_group(by=request.user, person=person_row, group=group),
        done,
    )


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def deactivate(request: PageRequest, pk: int) -> HttpResponse:
    """Ask for confirmation, or carry out the action: deactivate, or remove for good."""
    person_row = _find(pk)
    if request.method != "POST":
        context = {"person": person_row}
        template = "people/deactivate.html"
        return render_page(request, template, context, frame=frame_of(request))
    if "erase" in request.POST:
        done = _("The person was removed. Their turns and calls go on counting, without a name.")
        return _change(
            request, person_row, lambda: erase_person(by=request.user, person=person_row), done
        )
    done = (
        _("%(user)s was deactivated. Its keys are refused from now on.")
        if _is_program(person_row)
        else _("%(user)s was deactivated and signed out everywhere.")
    ) % {"user": person_row.username}
    return _change(
        request, person_row, lambda: service.deactivate(by=request.user, person=person_row), done
    )


@admins_only
@require_POST
def reactivate(request: PageRequest, pk: int) -> HttpResponse:
    """Reactivate a person."""
    person_row = _find(pk)
    done = (
        _("%(user)s was reactivated. Its keys work again.")
        if _is_program(person_row)
        else _("%(user)s was reactivated and may sign in again.")
    ) % {"user": person_row.username}
    return _change(
        request, person_row, lambda: service.reactivate(by=request.user, person=person_row), done
    )


@admins_only
@require_POST
def codes_off(request: PageRequest, pk: int) -> HttpResponse:
    """Turn off two-factor authentication for a person who lost phone and recovery codes."""
    person_row = _find(pk)
    done = _("Two-factor authentication is off for %(user)s.") % {"user": person_row.username}
    return _change(
        request,
        person_row,
        lambda: service.turn_codes_off(by=request.user, person=person_row),
        done,
    )


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def invite_person(request: PageRequest) -> HttpResponse:
    """Show the form; then mail the link, and show it this once."""
    groups = Group.objects.order_by("name", "pk")
    # Who is in no group has no tools. Where there is a choice, it is the admin's.
    only = [group.pk for group in groups] if len(groups) == 1 else []
    form = InviteForm(request.POST or None, initial={"groups": only})
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            invitation, raw = invite(
                by=request.user, email=data["email"], groups=data["groups"], role=data["role"]
            )
        except PeopleRefused as problem:
            form.add_error("email", str(problem))
        else:
            return _invited(request, invitation, raw)
    context = {
        "form": form,
        "groups": groups,
        "chosen": {str(pk) for pk in form["groups"].value() or ()},
        "delivers_mail": delivers_mail(),
        "may_invite_admins": request.user.is_superuser,
    }
    status = 422 if form.errors else 200
    template = "people/invite.html"
    return render_page(request, template, context, frame=frame_of(request), status=status)


@admins_only
@require_POST
def withdraw_invitation(request: PageRequest, pk: int) -> HttpResponse:
    """Withdraw an invitation, so that its link no longer works."""
    invitation = get_object_or_404(Invitation, pk=pk)
    withdraw(by=request.user, invitation=invitation)
    messages.success(
        request, _("The invitation to %(email)s was withdrawn.") % {"email": invitation.email}
    )
    return redirect("people-list")


def _invited(request: PageRequest, invitation: Invitation, raw: str) -> HttpResponse:
    link = send_invitation(request, invitation, raw)
    context = {"invitation": invitation, "link": link, "mailed": delivers_mail()}
    template = "people/invited.html"
    response = render_page(request, template, context, frame=frame_of(request))
    add_never_cache_headers(response)
    return response


def _is_program(person_row: User) -> bool:
    return hasattr(person_row, "service_account")


def _find(pk: int) -> User:
    return get_object_or_404(list_people(service.PeopleFilter()), pk=pk)


def _change(
    request: PageRequest, person_row: User, change: Callable[[], None], done: str
) -> HttpResponse:
    """Make the change, show its outcome as a message, and return to the person."""
    try:
        change()
    except PeopleRefused as problem:
        messages.error(request, str(problem))
    else:
        messages.success(request, done)
    return redirect("person", person_row.pk)


def _person_page(request: PageRequest, person_row: User, form: GroupForm) -> HttpResponse:
    context = {
        "person": person_row,
        "form": form,
        "others": Group.objects.exclude(user=person_row).order_by("name", "pk"),
        "myself": person_row.pk == request.user.pk,
        "may_change": request.user.is_superuser or not person_row.is_superuser,
    }
    status = 422 if form.errors else 200
    template = "people/person.html"
    return render_page(request, template, context, frame=frame_of(request), status=status)


# Page to add many people to a group at once: pasted, shown, then added or invited.


class MembersForm(forms.Form):
    """A pasted list, a file, or both; `step` is "add" once the admin has seen what it means."""

    people = forms.CharField(
        required=False,
        max_length=MOST_CHARACTERS,
        error_messages={"max_length": gettext_lazy("The list is too long.")},
    )
    file = TextFileField(required=False)
    step = forms.ChoiceField(required=False, choices=[("", ""), ("add", "add")])
    invite = forms.BooleanField(required=False)

    def clean(self) -> dict[str, Any]:
        """Join the pasted list and the file's."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        texts = (data.get("people") or "", read_table(data.get("file") or ""))
        data["list"] = "\n".join(filter(None, texts))
        if len(data["list"]) > MOST_CHARACTERS:
            self.add_error("people", gettext("The list is too long."))
        return data


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def add_members(request: PageRequest, pk: int) -> HttpResponse:
    """Show the form; POST shows who is meant, and a second one adds and invites them."""
    group = get_object_or_404(Group, pk=pk)
    files = request.FILES if request.method == "POST" else None
    form, member_list = MembersForm(posted(request), files), None
    if request.method == "POST" and form.is_valid():
        try:
            member_list = read_list(form.cleaned_data["list"], group)
            if form.cleaned_data["step"] and not member_list.is_empty:
                return _add(request, group, member_list, invites=form.cleaned_data["invite"])
        except PeopleRefused as refused:
            form.add_error("people", str(refused))
    context = {"group": group, "form": form, "seen": member_list, "mailed": delivers_mail()}
    context["list"] = form.cleaned_data.get("list", "") if member_list else ""
    status = 422 if form.errors else 200
    return render_access(request, "members.html", context, tab="groups", status=status)


def _add(
    request: PageRequest, group: Group, member_list: ReadList, *, invites: bool
) -> HttpResponse:
    """Add the people and invite the addresses, or nobody; the links are shown this once."""
    addresses = member_list.addresses if invites else ()
    with transaction.atomic():
        add_all(by=request.user, group=group, people=member_list.people)
        sent = invite_all(by=request.user, group=group, addresses=addresses)
        links = [
            (invitation, send_invitation(request, invitation, raw)) for invitation, raw in sent
        ]
    if member_list.people:
        number = len(member_list.people)
        message = ngettext(
            "%(number)s person was added to %(group)s.",
            "%(number)s people were added to %(group)s.",
            number,
        )
        messages.success(request, message % {"number": number, "group": group.name})
    if not links:
        return redirect("access-group", group.pk)
    context = {"group": group, "links": links, "mailed": delivers_mail()}
    response = render_access(request, "members_invited.html", context, tab="groups")
    add_never_cache_headers(response)
    return response
