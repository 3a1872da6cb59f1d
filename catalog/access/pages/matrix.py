"""The matrix page: grants of integrations to groups, and defaults."""

from django.contrib import messages
from django.contrib.auth.models import Group
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from acl.web.frame import PageRequest, admins_only, part_of, render_access
from catalog.access._grant_matrix import Matrix, access_matrix
from catalog.access.kept_limits import lift, list_kept
from catalog.access.pages.access_forms import REVERSE, MatrixForm

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
