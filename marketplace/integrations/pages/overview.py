"""Admin pages of integrations: list, details, and what their programs and Pegboard may reach."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.db.models import Count, F
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from acl.web.frame import PageRequest, admins_only, frame_of, render_page, usual_value
from catalog.access.grants import StoredAccess, stored_access
from catalog.embedding.configured_embedder import chosen_embedder_problem
from catalog.icons import icon_problem
from catalog.models import (
    Capability,
    Definition,
    Integration,
    OAuthClient,
    OAuthConnection,
    Sync,
)
from catalog.servers.cell.allowed_hosts import MOST_CHARACTERS, NotAHostError
from catalog.servers.cell.report import CellReport, report_for
from catalog.servers.client.server_problems import Reason
from catalog.servers.net.private_hosts import (
    HostRefusedError,
    allow_private_host,
    closed_host,
    forget_private_host,
    list_private_hosts,
)
from catalog.servers.oauth.accounts import find_account
from catalog.servers.program_network import ProgramNetwork, allow_host, program_network, set_network
from catalog.servers.secrets.store import SecretState, list_secret_states
from discovery.calls.quotas import call_limits
from discovery.example_requests.proposals import choose_tools
from discovery.insights.use import list_people_using
from marketplace.installs.integration_management import current_installation, previous_installation
from marketplace.integrations.listing import (
    IntegrationFilters,
    IntegrationStatus,
    is_only_described,
    list_integrations,
    rows_of,
    status_of_row,
    update_of,
    with_installations,
)
from marketplace.integrations.server_health import Health, check_now, health_of
from marketplace.models import Installation, InstallationEvent, Listing

TOOLS_ON_A_PAGE = 50
_EVENTS, _SYNCS, _PEOPLE = 60, 20, 30


@dataclass(frozen=True, slots=True)
class IntegrationDetails:
    """Contents of the page of an integration."""

    integration: Integration
    standing: IntegrationStatus
    update: str
    last: Installation | None
    before: Installation | None  # what a roll-back would bring
    now: Installation | None  # what a repair would bring back
    health: Health
    tools: Page[Capability]
    secrets: tuple[SecretState, ...]
    own_secrets: int
    account: OAuthConnection | None
    client_id: str
    access: StoredAccess
    events: tuple[InstallationEvent, ...]
    syncs: tuple[Sync, ...]
    to_review: int
    network: ProgramNetwork | None  # of a program
    cells: CellReport
    described_poorly: int  # tools that have no example requests either
    icon_problem: str  # why the icon that it declares is not shown, or ""

    @property
    def closed_host(self) -> str:
        """Return the host that has to be allowed before its server can be reached, or ""."""
        row, newest = self.integration, next(iter(self.health.checks), None)
        if not row.transport or row.transport == "stdio":
            return ""
        was_refused = newest is not None and newest.reason == Reason.NOT_ALLOWED
        return closed_host(row.endpoint, was_refused=was_refused)

    @property
    def only_described(self) -> bool:
        """Return True if nothing here carries out its calls."""
        return is_only_described(self.integration)


def integration_details(slug: str, *, page: int | str | None = 1) -> IntegrationDetails | None:
    """Return the details of an integration, or None."""
    rows = Integration.objects.filter(slug=slug).annotate(picture=F("icon__image"))
    row = with_installations(rows).first()
    if row is None:
        return None
    installations = Installation.objects.filter(integration=row)
    events = InstallationEvent.objects.filter(installation__integration=row)
    network = program_network(row) if row.transport == "stdio" else None
    tools = Capability.objects.filter(integration=row)
    personal_secrets = row.secrets.exclude(user=None)
    return IntegrationDetails(
        integration=row,
        standing=status_of_row(row),
        update=update_of(row),
        last=installations.select_related("by").order_by("-created_at", "-pk").first(),
        before=previous_installation(row),
        now=current_installation(row),
        health=health_of(row, network.refused if network else ()),
        tools=Paginator(
            tools.defer("input_schema", "output_schema", "content", "examples").order_by(
                "display_name", "pk"
            ),
            TOOLS_ON_A_PAGE,
        ).get_page(page),
        secrets=tuple(list_secret_states(row)),
        own_secrets=int(personal_secrets.aggregate(people=Count("user", distinct=True))["people"]),
        account=find_account(row, None),
        client_id=_client_id(row),
        access=stored_access(row),
        events=tuple(events.order_by("-pk")[:_EVENTS]),
        syncs=tuple(row.syncs.all()[:_SYNCS]),
        to_review=row.definitions.filter(standing__in=Definition.WAITING).count(),
        network=network,
        cells=report_for(row.command),
        described_poorly=len(choose_tools(row, ())),
        icon_problem=icon_problem(row.icon),
    )


def _client_id(integration: Integration) -> str:
    """Return the client id that an admin entered; automatically registered ones are not shown."""
    rows = OAuthClient.objects.filter(integration=integration, by_hand=True)
    return rows.values_list("client_id", flat=True).first() or ""


PAGE = 50
MOST_POLLS = 15  # for the result of a requested check, two seconds apart
SHOWN = [
    ("", gettext_lazy("Any status")),
    ("works", gettext_lazy("Ready")),
    ("trouble", gettext_lazy("Failing")),
    ("waiting", gettext_lazy("Needs approval")),
    ("off", gettext_lazy("Off")),
    ("update", gettext_lazy("Update available")),
    ("unused", gettext_lazy("Unused for 30 days")),
]
KINDS = [("", gettext_lazy("All kinds")), *Integration.Kind.choices]


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


class NetworkForm(forms.Form):
    """All hosts, one on each line, or one more that was refused."""

    hosts = forms.CharField(required=False, max_length=20_000)
    whole_network = forms.CharField(required=False, max_length=2)
    allow = forms.CharField(required=False, max_length=MOST_CHARACTERS)


@admins_only
@require_POST
def network(request: PageRequest, slug: str) -> HttpResponse:
    """Change the allowed hosts, or add one that the program was refused."""
    row = get_object_or_404(Integration, slug=slug, transport="stdio")
    form = NetworkForm(request.POST)
    if form.is_valid():
        try:
            _change(request, row, form)
        except NotAHostError as problem:
            form.add_error("hosts", str(problem))
        else:
            done = _("Saved. The program is restarted with it before its next call.")
            messages.success(request, done)
            return redirect(f"{reverse('integration', args=[slug])}#network")
    return show(request, slug, {"network_form": form}, status=422)


def _change(request: PageRequest, row: Integration, form: NetworkForm) -> None:
    data = form.cleaned_data
    if data["allow"]:
        allow_host(by=request.user, integration=row, host=data["allow"])
        return
    whole = data["whole_network"] == "on"
    set_network(by=request.user, integration=row, whole=whole, hosts=data["hosts"].split())


# Public ids of what was added together.
_ADDITIONS = re.compile(r"[0-9a-f-]{36}(?:,[0-9a-f-]{36})*")


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def hosts(request: PageRequest) -> HttpResponse:
    """List the allowed hosts, allow one more, or close one."""
    problem, back = "", redirect("allowed-hosts")
    try:
        if text := request.POST.get("forget", ""):
            if forget_private_host(by=request.user, text=text):
                messages.success(request, _("%(host)s is closed again.") % {"host": text})
            return back
        if request.method == "POST":
            row = allow_private_host(by=request.user, text=request.POST.get("host", ""))
            messages.success(request, _("%(host)s is allowed.") % {"host": row})
            return way_back(request) or back
    except HostRefusedError as refused:
        problem = str(refused)
    context = {
        "hosts": list_private_hosts(),
        "of_operator": [
            f"{host}:{port}" if port else host
            for host, port in sorted(settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS, key=str)
        ],
        "problem": problem,
        "host": request.POST.get("host", ""),
    }
    frame, status = frame_of(request), 422 if problem else 200
    return render_page(request, "integrations/hosts.html", context, frame=frame, status=status)


def way_back(request: PageRequest) -> HttpResponse | None:
    """Return to where the host was refused; the server of an integration is checked anew."""
    if _ADDITIONS.fullmatch(of := request.POST.get("of", "")):
        return redirect(f"{reverse('add-together')}?of={of}")
    listing = request.POST.get("listing", "")
    if Listing.objects.filter(slug=listing).exists():
        return redirect("listing-install", listing)
    integration = Integration.objects.filter(slug=request.POST.get("integration", "")).first()
    if integration is None:
        return None
    check_now(by=request.user, integration=integration)
    return redirect("integration", integration.slug)
