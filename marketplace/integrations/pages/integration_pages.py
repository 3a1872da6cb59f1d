"""Admin pages of integrations: list and details."""

from collections.abc import Mapping

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from acl.pages.frame import PageRequest, frame_of, render_page
from acl.pages.staff_pages import admins_only
from marketplace.integrations.integration_details import Details, integration_details
from marketplace.integrations.integration_list import list_integrations, rows_of
from marketplace.integrations.pages.integration_forms import IntegrationsForm

PAGE = 50
MOST_LOOKS = 15  # for a new look at the server, two seconds apart


@admins_only
@require_GET
def integrations(request: PageRequest) -> HttpResponse:
    """Show integrations that match the filters."""
    form = IntegrationsForm(request.GET)
    found = Paginator(list_integrations(form.wanted()), PAGE)
    page = found.get_page(form.cleaned_data.get("page"))
    context = {
        "form": form,
        "rows": rows_of(list(page.object_list)),
        "count": found.count,
        "found": {"page": page.number, "pages": found.num_pages},
        "filtered": any(form.cleaned_data.get(name) for name in ("q", "kind", "show")),
    }
    template = "integrations/list.html" + ("#found" if request.htmx else "")
    return render_page(request, template, context, frame=frame_of(request))


@admins_only
@require_GET
def integration(request: PageRequest, slug: str) -> HttpResponse:
    """Show an integration. While a health check is awaited, htmx requests only its health."""
    return show(request, slug, {"awaited": _awaited(request)}, part="#health")


def show(
    request: PageRequest,
    slug: str,
    more: Mapping[str, object],
    *,
    part: str = "",
    status: int = 200,
) -> HttpResponse:
    """Render the page of an integration, with the errors of a form on it."""
    details = details_or_404(slug, request)
    context = {"details": details, "integration": details.integration, **more}
    context["callback_address"] = request.build_absolute_uri(reverse("account-callback"))
    template = "integrations/integration.html" + (part if request.htmx else "")
    return render_page(request, template, context, frame=frame_of(request), status=status)


def details_or_404(slug: str, request: PageRequest) -> Details:
    """Return the details of an integration, or raise 404."""
    details = integration_details(slug, page=request.GET.get("page"))
    if details is None:
        raise Http404
    return details


def _awaited(request: PageRequest) -> dict[str, int] | None:
    """Return the last check before the request, and how many polls are left; None otherwise."""
    since, left = (request.GET.get(name, "") for name in ("since", "left"))
    if not since.isdecimal() or len(since) > 12:
        return None
    looks = int(left) if left.isdecimal() and len(left) < 3 else MOST_LOOKS
    return {"since": int(since), "left": min(looks, MOST_LOOKS) - 1} if looks else None
