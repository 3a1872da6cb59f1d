"""Pages of groups: members, grants, spaces, and creating, renaming and deleting a group."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import Group
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from acl.people.groups import (
    LONGEST_NAME,
    GroupRefused,
    create_group,
    delete_group,
    deletion_of,
    rename_group,
    set_joined_by_default,
)
from acl.people.spaces import SpaceRefused, create_space
from acl.web.frame import PageRequest, admins_only, part_of, posted, render_access
from catalog.access._group_merge import merge_groups, preview_merge
from catalog.access._group_overview import (
    build_tree,
    find_targets,
    list_grants,
    list_groups,
    list_members,
    list_rules,
    walk_tree,
)
from catalog.access.change_preview import Change
from catalog.access.grants import grant_integrations
from catalog.access.pages.access_forms import (
    SearchForm,
    SpaceForm,
    TargetForm,
    reference,
    write_change,
)
from catalog.access.pages.matrix import render_preview
from catalog.models import Integration, Rule

# Pages of groups: members, grants and spaces.


@admins_only
@require_GET
def groups(request: PageRequest) -> HttpResponse:
    """List groups by name."""
    form = SearchForm(request.GET)
    group_page = list_groups(words=form.words(), page=form.page_number())
    template = part_of(request, "groups.html", "found")
    return render_access(request, template, {"form": form, "found": group_page}, tab="groups")


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def group(request: PageRequest, pk: int) -> HttpResponse:
    """Show a group; POST creates a space in it."""
    group_row = get_object_or_404(Group.objects.select_related("policy"), pk=pk)
    form = SpaceForm(posted(request), group=group_row)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            space = create_space(
                by=request.user, group=group_row, parent=data["parent"], name=data["name"]
            )
        except SpaceRefused as problem:
            form.add_error("name", str(problem))
        else:
            messages.success(
                request, _("Space %(name)s added. It has no rules yet.") % {"name": space.name}
            )
            return redirect("access-space", space.pk)
    return _group_page(request, group_row, form)


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def give(request: PageRequest, pk: int) -> HttpResponse:
    """Choose what to grant to the group; POST previews the grant."""
    group_row = get_object_or_404(Group, pk=pk)
    form = TargetForm(posted(request))
    if request.method == "POST" and form.is_valid():
        change = Change(verb="grant", target=form.cleaned_data["target"], group=group_row)
        return render_preview(request, [change], back=f"/access/groups/{group_row.pk}/")
    words = request.POST.get("target_q", request.GET.get("target_q", ""))
    context = {"group": group_row, "form": form, "found": find_targets(words), "words": words}
    status = 422 if form.errors else 200
    return render_access(request, "give.html", context, tab="groups", status=status)


@admins_only
@require_GET
def suggest_targets(request: PageRequest) -> HttpResponse:
    """Suggest integrations and capabilities while an admin types."""
    words = request.GET.get("target_q", "")[:200]
    context = {"found": find_targets(words), "chosen": request.GET.get("target", "")}
    return render_access(request, "_targets.html", context, tab="groups")


@admins_only
@require_GET
def suggest_capabilities(request: PageRequest) -> HttpResponse:
    """Suggest full names of capabilities while an admin types."""
    targets = find_targets(request.GET.get("capability", "")[:200], integrations=False)
    names = [capability.full_name for capability in targets.capabilities]
    return render_access(request, "_names.html", {"names": names}, tab="explain")


def _group_page(request: PageRequest, group_row: Group, form: SpaceForm) -> HttpResponse:
    search = SearchForm(request.GET)
    words = search.words()
    grants = list_grants(group_row, words=words, page=search.page_number())
    members, member_count = list_members(group_row)
    tree = build_tree(group_row)
    policy = getattr(group_row, "policy", None)
    is_open = policy is not None and policy.open_default
    context = {
        "group": group_row,
        "is_open": is_open,
        "is_joined": policy is not None and policy.joined_by_default,
        "default_line": write_change(Change(verb="close" if is_open else "open", group=group_row)),
        "members": members,
        "member_count": member_count,
        "tree": tree,
        "branches": list(walk_tree(tree)),
        "grants": grants,
        "given_singly": [
            (target, f"revoke|{reference(group_row)}|{reference(target)}||")
            for target in grants.capabilities
        ],
        "rules": list_rules(group_row, words) if words else [],
        "search": search,
        "form": form,
        "back": request.get_full_path(),
    }
    status = 422 if form.errors else 200
    return render_access(request, "group.html", context, tab="groups", status=status)


# Pages that create, rename and delete groups.

# Sentences about what is deleted with a group.

RULES_INSIDE = "rules in its spaces"  # beside the tables' labels
# What the labels of tables come to in words, in the order in which it is told.
_WORDS: tuple[tuple[frozenset[str], Any], ...] = (
    (
        frozenset({"catalog.integrationgrouppermission", "catalog.capabilitygrouppermission"}),
        ngettext_lazy("%(n)d grant", "%(n)d grants", "n"),
    ),
    (frozenset({"acl.space"}), ngettext_lazy("%(n)d space", "%(n)d spaces", "n")),
    (
        frozenset({RULES_INSIDE}),
        ngettext_lazy("%(n)d rule in its spaces", "%(n)d rules in its spaces", "n"),
    ),
    (
        frozenset({"catalog.rule"}),
        ngettext_lazy(
            "%(n)d rule for its members, in any space",
            "%(n)d rules for its members, in any space",
            "n",
        ),
    ),
    (
        frozenset({"catalog.runtimecapability"}),
        ngettext_lazy("%(n)d tool that it registered", "%(n)d tools that it registered", "n"),
    ),
    (
        frozenset({"acl.accessrequest", "catalog.serverproposal"}),
        ngettext_lazy("%(n)d request or proposal", "%(n)d requests and proposals", "n"),
    ),
    (
        frozenset({"discovery.turn", "discovery.call"}),
        ngettext_lazy(
            "%(n)d turn or call in its history", "%(n)d turns and calls in its history", "n"
        ),
    ),
    (
        frozenset({"discovery.experience", "discovery.taughtmessage"}),
        ngettext_lazy("%(n)d learned example", "%(n)d learned examples", "n"),
    ),
)
_OTHERS = ngettext_lazy("%(n)d other record", "%(n)d other records", "n")


def describe_rows(rows: Mapping[str, int]) -> list[str]:
    """Return a line for each kind of thing that goes, with its number."""
    worded_labels = frozenset[str]().union(*(labels for labels, _ in _WORDS))
    numbers = [(sum(rows.get(label, 0) for label in labels), words) for labels, words in _WORDS]
    others = sum(number for label, number in rows.items() if label not in worded_labels)
    return [str(words % {"n": number}) for number, words in (*numbers, (others, _OTHERS)) if number]


# Tables of what goes over to the other group in a merge.
_GOING_OVER = {
    "catalog.integrationgrouppermission",
    "catalog.capabilitygrouppermission",
    "catalog.rule",
}
_NAME_NEEDED = {"required": gettext_lazy("Enter a name.")}


class NewGroupForm(forms.Form):
    """Name and default of a new group, and the integrations that it begins with."""

    name = forms.CharField(max_length=LONGEST_NAME, error_messages=_NAME_NEEDED)
    default = forms.ChoiceField(
        choices=[
            ("listed", gettext_lazy("Only what is granted to them")),
            ("open", gettext_lazy("Every integration that is not restricted")),
        ],
        initial="listed",
    )
    integrations = forms.ModelMultipleChoiceField(
        queryset=Integration.objects.filter(owner=None).order_by("title", "pk"),
        to_field_name="slug",
        required=False,
        error_messages={"invalid_choice": gettext_lazy("There is no such integration.")},
    )


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def new_group(request: PageRequest) -> HttpResponse:
    """Show the form; POST creates the group and goes on to adding people."""
    form = NewGroupForm(posted(request))
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            with transaction.atomic():
                group = create_group(
                    by=request.user, name=data["name"], is_open=data["default"] == "open"
                )
                # Nobody is in the group yet, so there is nothing to preview.
                grant_integrations(integrations=data["integrations"], group=group, by=request.user)
        except GroupRefused as refused:
            form.add_error("name", str(refused))
        else:
            message = _("Group %(name)s was created. Add its people next.") % {"name": group.name}
            messages.success(request, message)
            return redirect("group-people", group.pk)
    status = 422 if form.errors else 200
    # A value that is no integration has its own error.
    context = {"form": form, "chosen": form["integrations"].value() or ()}
    return render_access(request, "new_group.html", context, tab="groups", status=status)


@admins_only
@require_POST
def rename(request: PageRequest, pk: int) -> HttpResponse:
    """Rename the group, and return to its page."""
    group = get_object_or_404(Group, pk=pk)
    try:
        renamed = rename_group(by=request.user, group=group, name=request.POST.get("name", ""))
    except GroupRefused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, _("Group renamed to %(name)s.") % {"name": renamed.name})
    return redirect("access-group", pk)


@admins_only
@require_POST
def joined_by_default(request: PageRequest, pk: int) -> HttpResponse:
    """Set whether new people join the group, and return to its page."""
    group, joined = get_object_or_404(Group, pk=pk), request.POST.get("joined") == "on"
    try:
        set_joined_by_default(by=request.user, group=group, joined=joined)
    except GroupRefused as refused:
        messages.error(request, str(refused))
    else:
        message = (
            _("New people join %(name)s.") if joined else _("New people do not join %(name)s.")
        )
        messages.success(request, message % {"name": group.name})
    return redirect("access-group", pk)


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: PageRequest, pk: int) -> HttpResponse:
    """Show what goes with the group; POST with its name deletes it."""
    group = get_object_or_404(Group, pk=pk)
    refused = ""
    if request.method == "POST":
        refused = _delete(request, group)
        if not refused:
            messages.success(request, _("Group %(name)s was deleted.") % {"name": group.name})
            return redirect("access-groups")
    going, inside = deletion_of(group), Rule.objects.filter(space__group=group).count()
    lines = describe_rows({**going.rows, RULES_INSIDE: inside})
    context = {"group": group, "going": going, "lines": lines, "refused": refused}
    status = 422 if refused else 200
    return render_access(request, "delete_group.html", context, tab="groups", status=status)


def _delete(request: PageRequest, group: Group) -> str:
    """Delete the group, or return why not."""
    if " ".join(request.POST.get("name", "").split()) != group.name:
        return _("Enter the name of the group to delete it.")
    try:
        delete_group(by=request.user, group=group)
    except GroupRefused as refused:
        return str(refused)
    return ""


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def merge(request: PageRequest, pk: int) -> HttpResponse:
    """Choose a group and show what merging would do; POST with the name does it."""
    group, refused = get_object_or_404(Group, pk=pk), ""
    others = Group.objects.exclude(pk=pk).order_by("name", "pk")
    data = request.POST if request.method == "POST" else request.GET
    into = others.filter(name=data.get("into", "").strip()[:LONGEST_NAME]).first()
    if request.method == "POST" and into:
        refused = _merge(request, group, into)
        if not refused:
            message = _("%(name)s was merged into %(into)s.")
            messages.success(request, message % {"name": group.name, "into": into.name})
            return redirect("access-group", into.pk)
    unknown = bool(data.get("into")) and into is None
    preview = preview_merge(source=group, into=into) if into else None
    lines = _merged_lines(group, preview.going.rows) if preview else []
    context = {
        "group": group,
        "into": into,
        "preview": preview,
        "lines": lines,
        "refused": refused,
        "unknown": unknown,
        "names": [candidate.name for candidate in others[:200]],
        "typed": data.get("into", ""),
    }
    status = 422 if refused or unknown or (request.method == "POST" and not into) else 200
    return render_access(request, "merge.html", context, tab="groups", status=status)


def _merged_lines(group: Group, rows: Mapping[str, int]) -> list[str]:
    """Return what is deleted in a merge: grants and other groups' rules go over."""
    inside = Rule.objects.filter(space__group=group).count()
    remaining = {label: number for label, number in rows.items() if label not in _GOING_OVER}
    return describe_rows({**remaining, RULES_INSIDE: inside})


def _merge(request: PageRequest, group: Group, into: Group) -> str:
    """Merge the groups, or return why not."""
    if " ".join(request.POST.get("name", "").split()) != group.name:
        return _("Enter the name of the group to delete it.")
    try:
        merge_groups(by=request.user, source=group, into=into)
    except GroupRefused as refused:
        return str(refused)
    return ""
