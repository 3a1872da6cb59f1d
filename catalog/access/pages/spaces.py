"""Pages of a space: own and inherited rules; rename, move and delete."""

from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.models import Group
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from acl.models import Space
from acl.people.spaces import SpaceRefused, delete_space, move_space, rename_space
from acl.rights import precedence
from acl.web.frame import PageRequest, admins_only, posted, render_access
from catalog.access._group_overview import Level, find_targets, list_levels
from catalog.access.change_preview import Change
from catalog.access.pages.access_forms import RuleForm, find_things, write_change
from catalog.access.pages.matrix import find_rule_warnings, render_preview
from catalog.access.rules import RuleConflict, RuleRefused
from catalog.models import Rule


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule, and the line that deletes it."""

    rule: Rule
    line: str


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def space(request: PageRequest, pk: int) -> HttpResponse:
    """Show a space's own and inherited rules; POST previews a new rule."""
    space_row = _space(pk)
    searched = request.GET if "effect" in request.GET else None
    form = RuleForm(searched if request.method != "POST" else posted(request))
    if request.method == "POST" and form.is_valid():
        return render_preview(request, [form.change(space_row)], back=_address(space_row))
    return _space_page(request, space_row, form)


@admins_only
@require_GET
def warnings(request: PageRequest, pk: int) -> HttpResponse:
    """Return warnings about the rule in the form, for htmx."""
    context = {"warnings": _warnings(_space(pk), RuleForm(request.GET))}
    return render_access(request, "space.html#warnings", context, tab="groups")


@admins_only
@require_POST
def rename(request: PageRequest, pk: int) -> HttpResponse:
    """Rename the space."""
    space_row = _space(pk)
    try:
        renamed = rename_space(by=request.user, space=space_row, name=request.POST.get("name", ""))
    except SpaceRefused as problem:
        return _space_page(request, _space(pk), RuleForm(), refused=str(problem))
    messages.success(request, _("Space renamed to %(name)s.") % {"name": renamed.name})
    return redirect(_address(space_row))


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def move(request: PageRequest, pk: int) -> HttpResponse:
    """Show which rules a new parent would change; POST moves the space."""
    space_row = _space(pk)
    parent_reference = f"space-{request.POST.get('parent') or request.GET.get('parent', '')}"
    # Possible parents; the service refuses descendants.
    parent = (
        Space.objects.filter(group=space_row.group_id)
        .exclude(pk=space_row.pk)
        .filter(pk__in=[thing.pk for thing in find_things([parent_reference]).values()])
        .first()
    )
    if parent is None:
        return _space_page(request, space_row, RuleForm(), refused=_("Choose the parent space."))
    if request.method == "POST":
        try:
            move_space(by=request.user, space=space_row, parent=parent)
        except SpaceRefused as problem:
            return _space_page(request, _space(pk), RuleForm(), refused=str(problem))
        messages.success(
            request,
            _("%(space)s moved to %(parent)s.") % {"space": space_row.name, "parent": parent.name},
        )
        return redirect(_address(space_row))
    before = _rules(list_levels(space_row)[1:])
    after = _rules(list_levels(parent))
    context = {
        "space": space_row,
        "parent": parent,
        "loses": [rule for rule in before if rule not in after],
        "gains": [rule for rule in after if rule not in before],
    }
    return render_access(request, "move.html", context, tab="groups")


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: PageRequest, pk: int) -> HttpResponse:
    """Show what deleting the space affects; POST deletes it."""
    space_row = _space(pk)
    if space_row.parent is None:
        return _space_page(
            request, space_row, RuleForm(), refused=_("You cannot delete the root space.")
        )
    if request.method == "POST":
        try:
            delete_space(by=request.user, space=space_row)
        except SpaceRefused as problem:
            return _space_page(request, space_row, RuleForm(), refused=str(problem))
        messages.success(
            request, _("%(space)s and its rules were deleted.") % {"space": space_row.name}
        )
        return redirect("access-group", space_row.group_id)
    children = Space.objects.filter(parent=space_row).order_by("name", "pk")
    context = {"space": space_row, "rules": list_levels(space_row)[0].rules, "children": children}
    return render_access(request, "delete.html", context, tab="groups")


def _space_page(
    request: PageRequest, space_row: Space, form: RuleForm, *, refused: str = ""
) -> HttpResponse:
    levels = list_levels(space_row)
    words = form.data.get("target_q", "")
    context = {
        "space": space_row,
        "path": [level.space for level in reversed(levels)],
        "levels": [
            (level, [RuleRow(rule, _deletion_line(rule)) for rule in level.rules])
            for level in levels
        ],
        "form": form,
        "found": find_targets(words),
        "words": words,
        "roles": Group.objects.order_by("name", "pk"),
        "parents": Space.objects.filter(group=space_row.group_id)
        .exclude(pk=space_row.pk)
        .order_by("name", "pk"),
        "warnings": _warnings(space_row, form),
        "refused": refused,
        "back": _address(space_row),
        "precedence": [_(sentence) for sentence in precedence.IN_WORDS],
    }
    wrong = refused or (request.method == "POST" and form.errors)
    return render_access(request, "space.html", context, tab="groups", status=422 if wrong else 200)


def _warnings(space_row: Space, form: RuleForm) -> list[RuleConflict]:
    """Return warnings about the rule, or [] while the form is incomplete."""
    if not form.is_valid():
        return []
    try:
        return find_rule_warnings(form.change(space_row), space_row, form.cleaned_data["effect"])
    except RuleRefused:
        return []


def _deletion_line(rule: Rule) -> str:
    deletion = Change(
        verb="unrule",
        target=rule.integration or rule.capability,
        user=rule.user,
        group=rule.group,
        space=rule.space,
        effect=Rule.Effect(rule.effect),
    )
    return write_change(deletion)


def _rules(levels: list[Level]) -> list[Rule]:
    return [rule for level in levels for rule in level.rules]


def _space(pk: int) -> Space:
    return get_object_or_404(Space.objects.select_related("group", "parent"), pk=pk)


def _address(space_row: Space) -> str:
    return f"/access/spaces/{space_row.pk}/"
