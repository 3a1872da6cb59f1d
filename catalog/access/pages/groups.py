"""Pages of groups: members, grants and spaces."""

from django.contrib import messages
from django.contrib.auth.models import Group
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from acl.people.spaces import SpaceRefused, create_space
from acl.web.frame import PageRequest
from acl.web.staff_pages import admins_only, part_of, posted, render_access
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
from catalog.access.pages.access_forms import SearchForm, SpaceForm, TargetForm
from catalog.access.pages.change_text import reference, write_change
from catalog.access.pages.changes import render_preview


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
        return render_preview(request, [change], back=_address(group_row))
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


def _address(group_row: Group) -> str:
    return f"/access/groups/{group_row.pk}/"
