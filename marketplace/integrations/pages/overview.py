"""Admin pages of integrations: list and details."""

from collections.abc import Mapping

from django import forms
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from acl.web.frame import PageRequest, admins_only, frame_of, render_page, usual_value
from catalog.embedding.configured_embedder import chosen_embedder_problem
from catalog.models import Integration
from discovery.calls.quotas import call_limits
from discovery.insights.use import list_people_using
from marketplace.integrations._details import IntegrationDetails, integration_details
from marketplace.integrations.listing import IntegrationFilters, list_integrations, rows_of

PAGE = 50
MOST_POLLS = 15  # for the result of a requested check, two seconds apart
SHOWN = [
    ("", _("Any status")),
    ("works", _("Ready")),
    ("trouble", _("Failing")),
    ("waiting", _("Needs approval")),
    ("off", _("Off")),
    ("update", _("Update available")),
    ("unused", _("Unused for 30 days")),
]
KINDS = [("", _("All kinds")), *Integration.Kind.choices]


class IntegrationsForm(forms.Form):
    """Filters from the query string. Invalid values count as not set."""

    q = forms.CharField(required=False, max_length=200)
    kind = forms.ChoiceField(required=False, choices=KINDS)
    show = forms.ChoiceField(required=False, choices=SHOWN)
    page = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)

    def to_filters(self) -> IntegrationFilters:
        """Return the cleaned values as filters."""
        self.full_clean()
        data = self.cleaned_data
        return IntegrationFilters(data.get("q", ""), data.get("kind", ""), data.get("show", ""))


@admins_only
@require_GET
def integrations(request: PageRequest) -> HttpResponse:
    """Show integrations that match the filters."""
    form = IntegrationsForm(request.GET)
    paginator = Paginator(list_integrations(form.to_filters()), PAGE)
    page = paginator.get_page(form.cleaned_data.get("page"))
    rows = rows_of(list(page.object_list))
    usual_kind = usual_value(row.integration.kind for row in rows)
    context = {
        "form": form,
        "embedder_problem": chosen_embedder_problem(),
        "rows": rows,
        "usual_kind": Integration.Kind(usual_kind) if usual_kind else None,
        "usual_good": usual_value(row.standing.tone for row in rows) == "good",
        "count": paginator.count,
        "found": {"page": page.number, "pages": paginator.num_pages},
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
    limit = call_limits().get(details.integration.pk)
    context = {"details": details, "integration": details.integration, "call_limit": limit, **more}
    if not part or not request.htmx:
        context["people_using"] = list_people_using(details.integration.pk)
    context["callback_address"] = request.build_absolute_uri(reverse("account-callback"))
    template = "integrations/integration.html" + (part if request.htmx else "")
    return render_page(request, template, context, frame=frame_of(request), status=status)


def details_or_404(slug: str, request: PageRequest) -> IntegrationDetails:
    """Return the details of an integration, or raise 404."""
    details = integration_details(slug, page=request.GET.get("page"))
    if details is None:
        raise Http404
    return details


def _awaited(request: PageRequest) -> dict[str, int] | None:
    """Return the last check before the request, and how many polls are left; None otherwise."""
    since, polls_left = (request.GET.get(name, "") for name in ("since", "left"))
    if not since.isdecimal() or len(since) > 12:
        return None
    looks = int(polls_left) if polls_left.isdecimal() and len(polls_left) < 3 else MOST_POLLS
    return {"since": int(since), "left": min(looks, MOST_POLLS) - 1} if looks else None
