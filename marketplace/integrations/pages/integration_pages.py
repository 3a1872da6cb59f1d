"""Integrations, for admins: how each stands, and one of them in full."""

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
    """All that fit the filters."""
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
    """One of them; for htmx its health alone, as long as a new look at it is awaited."""
    return show(request, slug, {"awaited": _awaited(request)}, part="#health")


def show(
    request: PageRequest,
    slug: str,
    more: Mapping[str, object],
    *,
    part: str = "",
    status: int = 200,
) -> HttpResponse:
    """The page of an integration, with what a form on it has to say."""
    details = details_or_404(slug, request)
    context = {"details": details, "integration": details.integration, **more}
    context["callback_address"] = request.build_absolute_uri(reverse("account-callback"))
    template = "integrations/integration.html" + (part if request.htmx else "")
    return render_page(request, template, context, frame=frame_of(request), status=status)


def details_or_404(slug: str, request: PageRequest) -> Details:
    """What there is to show of it."""
    details = integration_details(slug, page=request.GET.get("page"))
    if details is None:
        raise Http404
    return details


def _awaited(request: PageRequest) -> dict[str, int] | None:
    """The newest look that was known when another one was asked for, and how often to ask on."""
    since, left = (request.GET.get(name, "") for name in ("since", "left"))
    if not since.isdecimal() or len(since) > 12:
        return None
    looks = int(left) if left.isdecimal() and len(left) < 3 else MOST_LOOKS
    return {"since": int(since), "left": min(looks, MOST_LOOKS) - 1} if looks else None
