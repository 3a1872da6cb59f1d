"""The matrix page, grants of integrations to groups, and each change: preview, save and undo."""

from collections.abc import Sequence
from hashlib import sha256

from django.contrib import messages
from django.contrib.auth.models import Group
from django.db import transaction
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from acl.models import Space
from acl.web.frame import SAVED, UNDO, PageRequest, admins_only, part_of, render_access
from catalog.access._grant_matrix import Matrix, access_matrix
from catalog.access.change_preview import Change, ChangeRefused, Preview, apply, preview
from catalog.access.kept_limits import lift, list_kept
from catalog.access.pages.access_forms import (
    REVERSE,
    MatrixForm,
    read_changes,
    reversed_changes,
    sentence,
    write_changes,
)
from catalog.access.rules import RuleConflict, RuleRefused, find_warnings
from catalog.models import Capability, Integration, Rule

MOST_KEPT = 100
# Names of checkboxes, by what checking one does; unchecking does the reverse.
BOXES = ("grant", "open", "restrict")


@admins_only
@require_GET
def matrix(request: PageRequest) -> HttpResponse:
    """Show a window of the matrix, or all grants of one group."""
    form = MatrixForm(request.GET)
    window = form.window()
    group = None if window.group is None else get_object_or_404(Group, pk=window.group)
    board = access_matrix(window)
    context: dict[str, object] = {"form": form, "matrix": board, "was": checked_boxes(board)}
    context |= {"group": group, "kept": [] if group else list_kept()[:MOST_KEPT]}
    tab = "groups" if group else "matrix"
    return render_access(request, part_of(request, "matrix.html", "board"), context, tab=tab)


@admins_only
@require_POST
def lift_kept(request: PageRequest, pk: int) -> HttpResponse:
    """Lift a limit that waits for what it names."""
    limit = get_object_or_404(list_kept(), pk=pk)
    lift(by=request.user, limit=limit)
    message = _("The limit on %(name)s was lifted. What comes back under this name is free of it.")
    messages.success(request, message % {"name": limit.target})
    return redirect("access")


def checked_boxes(matrix: Matrix) -> dict[str, str]:
    """Return the initially checked boxes of the window, by name."""
    grants = [
        f"group-{cell.column.group.pk}|integration-{row.integration.pk}"
        for row in matrix.rows
        for cell in row.cells
        if cell.granted
    ]
    opened = [f"group-{column.group.pk}|" for column in matrix.columns if column.is_open]
    restricted = [
        f"|integration-{r.integration.pk}" for r in matrix.rows if r.integration.restricted
    ]
    return {
        "grant": " ".join(grants),
        "open": " ".join(opened),
        "restrict": " ".join(restricted),
    }


def read_boxes(posted: QueryDict) -> str:
    """Return the changes as lines: the difference between initial and submitted boxes.

    `pending` holds changes made on other windows. `all` names a row or column whose button was
    pressed without JavaScript.
    """
    lines = posted.get("pending", "").splitlines()
    if "all" in posted:
        return "\n".join(lines + _toggle_all(posted, posted.get("all", "")))
    for on in BOXES:
        was, now = set(posted.get(f"was_{on}", "").split()), set(posted.getlist(on))
        lines += [f"{on}|{box}||" for box in sorted(now - was)]
        lines += [f"{REVERSE[on]}|{box}||" for box in sorted(was - now)]  # type: ignore[index]
    return "\n".join(lines)


def _toggle_all(posted: QueryDict, value: str) -> list[str]:
    """Grant a whole row or column, or revoke it if everything was granted.

    `value` names the row or column, after `select` or `clear` where the button says which.
    """
    verb, _, name = value.rpartition(" ")
    groups = [name] if name.startswith("group") else posted.get("groups_shown", "").split()
    rows = [name] if name.startswith("integration") else posted.get("rows_shown", "").split()
    boxes = [f"{group}|{row}" for group in groups for row in rows]
    was = set(posted.get("was_grant", "").split())
    missing = [box for box in boxes if box not in was]
    granted = [box for box in boxes if box in was]
    if verb == "select" or (missing and verb != "clear"):
        return [f"grant|{box}||" for box in missing]
    return [f"revoke|{box}||" for box in granted]


@admins_only
@require_POST
def preview_changes(request: PageRequest) -> HttpResponse:
    """Preview who would gain and lose what; nothing is stored."""
    changes = read_changes(request.POST.get("changes") or read_boxes(request.POST))
    return render_preview(request, changes, back=_return_url(request))


@admins_only
@require_GET
def preview_undo(request: PageRequest) -> HttpResponse:
    """Preview the reverse of the last change."""
    changes = read_changes(request.session.get(UNDO, ""))
    return render_preview(request, changes, back=reverse("access"))


@admins_only
@require_POST
@transaction.atomic
def save(request: PageRequest) -> HttpResponse:
    """Store the previewed changes; if their effect changed meanwhile, preview them again."""
    changes = read_changes(request.POST.get("changes", ""))
    back = _return_url(request)
    try:
        # Someone else may have changed rights since the preview was shown.
        if request.POST.get("seen") != _digest(changes, preview(changes)):
            return render_preview(request, changes, back=back, moved_on=True)
        apply(by=request.user, changes=changes)
    except (ChangeRefused, RuleRefused) as problem:
        return render_preview(request, changes, back=back, problem=str(problem))
    request.session[UNDO] = write_changes(reversed_changes(changes))
    request.session[SAVED] = len(changes)
    return redirect(back)


def render_preview(
    request: PageRequest,
    changes: Sequence[Change],
    *,
    back: str,
    moved_on: bool = False,
    problem: str = "",
) -> HttpResponse:
    """Render the preview of changes."""
    effects, surprises = None, []
    try:
        with transaction.atomic():
            effects = None if problem else preview(changes)
            surprises = _collect_warnings(changes)
    except (ChangeRefused, RuleRefused) as refusal:
        problem = str(refusal)
    context = {
        "changes": changes,
        "sentences": [sentence(change) for change in changes],
        "lines": write_changes(changes),
        "preview": effects,
        "seen": _digest(changes, effects) if effects else "",
        "surprises": surprises,
        "moved_on": moved_on,
        "problem": problem,
        "back": back,
    }
    status = 409 if moved_on else 422 if problem or not changes else 200
    return render_access(request, "changes.html", context, tab="matrix", status=status)


def _collect_warnings(changes: Sequence[Change]) -> list[RuleConflict]:
    """Return warnings about the rules among the changes."""
    warnings: dict[RuleConflict, None] = {}
    for change in changes:
        if change.verb == "rule" and change.space is not None and change.effect is not None:
            warnings |= dict.fromkeys(find_rule_warnings(change, change.space, change.effect))
    return list(warnings)


def find_rule_warnings(change: Change, space: Space, effect: Rule.Effect) -> list[RuleConflict]:
    """Return warnings about one rule."""
    target = change.target
    return find_warnings(
        space=space,
        effect=effect,
        integration=target if isinstance(target, Integration) else None,
        capability=target if isinstance(target, Capability) else None,
        user=change.user,
        group=change.group,
    )


def _digest(changes: Sequence[Change], effects: Preview) -> str:
    """Return a digest that changes when the changes or their effects do."""
    return sha256(f"{write_changes(changes)}\n{effects}".encode()).hexdigest()


def _return_url(request: PageRequest) -> str:
    url = request.POST.get("back", "")
    is_own = url_has_allowed_host_and_scheme(
        url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return url if is_own and url.startswith("/access/") else reverse("access")
