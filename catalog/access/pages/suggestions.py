"""Suggestions while an admin types."""

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from acl.pages.frame import PageRequest
from acl.pages.staff_pages import admins_only, render_access
from catalog.access.group_overview import find_targets


@admins_only
@require_GET
def targets(request: PageRequest) -> HttpResponse:
    """Suggest integrations and capabilities."""
    words = request.GET.get("target_q", "")[:200]
    context = {"found": find_targets(words), "chosen": request.GET.get("target", "")}
    return render_access(request, "_targets.html", context, tab="groups")


@admins_only
@require_GET
def capabilities(request: PageRequest) -> HttpResponse:
    """Suggest full names."""
    found = find_targets(request.GET.get("capability", "")[:200], integrations=False)
    names = [capability.full_name for capability in found.capabilities]
    return render_access(request, "_names.html", {"names": names}, tab="explain")
