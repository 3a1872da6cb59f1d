"""Changes of rights: preview, save and undo."""

from collections.abc import Sequence
from hashlib import sha256

from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from acl.models import Space
from acl.web.frame import SAVED, UNDO, PageRequest, admins_only, render_access
from catalog.access.change_preview import Change, ChangeRefused, Preview, apply, preview
from catalog.access.pages.access_forms import (
    read_changes,
    reversed_changes,
    sentence,
    write_changes,
)
from catalog.access.pages.matrix import read_boxes
from catalog.access.rules import RuleConflict, RuleRefused, find_warnings
from catalog.models import Capability, Integration, Rule


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
