"""The matrix: which group was given which integration, and what is open by default."""

from django.http import HttpResponse, QueryDict
from django.views.decorators.http import require_GET

from acl.pages.frame import PageRequest
from acl.pages.staff_pages import admins_only, part_of, render_access
from catalog.access.grant_matrix import Matrix, access_matrix
from catalog.access.pages.access_forms import MatrixForm
from catalog.access.pages.change_text import REVERSE

# The names of the boxes: what checking one does. Unchecking does the reverse.
BOXES = ("grant", "open", "restrict")


@admins_only
@require_GET
def matrix(request: PageRequest) -> HttpResponse:
    """A window of the matrix."""
    form = MatrixForm(request.GET)
    shown = access_matrix(form.wanted())
    context = {"form": form, "matrix": shown, "was": boxes_checked(shown)}
    return render_access(request, part_of(request, "matrix.html", "board"), context, tab="matrix")


def boxes_checked(matrix: Matrix) -> dict[str, str]:
    """Which boxes of the window are checked when the page is made, by their names."""
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


def lines_of_boxes(posted: QueryDict) -> str:
    """The changes that the boxes stand for, as lines: what was checked, and what is now.

    `pending` has those that were made on other windows; `all` names a row or a column whose
    button was pressed where no script could check its boxes."""
    lines = posted.get("pending", "").splitlines()
    if "all" in posted:
        return "\n".join(lines + _whole(posted, posted.get("all", "")))
    for on in BOXES:
        was, now = set(posted.get(f"was_{on}", "").split()), set(posted.getlist(on))
        lines += [f"{on}|{box}||" for box in sorted(now - was)]
        lines += [f"{REVERSE[on]}|{box}||" for box in sorted(was - now)]  # type: ignore[index]
    return "\n".join(lines)


def _whole(posted: QueryDict, name: str) -> list[str]:
    """All of a row or a column: given, or taken back where all of it was given."""
    groups = [name] if name.startswith("group") else posted.get("groups_shown", "").split()
    rows = [name] if name.startswith("integration") else posted.get("rows_shown", "").split()
    boxes = [f"{group}|{row}" for group in groups for row in rows]
    was = set(posted.get("was_grant", "").split())
    missing = [box for box in boxes if box not in was]
    return [f"grant|{box}||" for box in missing] or [f"revoke|{box}||" for box in boxes]
