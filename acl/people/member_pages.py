"""Page to add many people to a group at once: pasted, shown, then added or invited."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import Group
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext, gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from acl.people._member_lists import (
    MOST_CHARACTERS,
    ReadList,
    add_all,
    invite_all,
    read_list,
    read_table,
)
from acl.people.pages import send_invitation
from acl.people.people import PeopleRefused
from acl.platform.mail import delivers_mail
from acl.web.frame import PageRequest
from acl.web.staff_pages import admins_only, posted, render_access
from acl.web.text_upload import TextFileField


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
