"""Details of an integration for admins: status, health, tools, access and history."""

from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.db.models import Count, F

from catalog.access.grants import StoredAccess, stored_access
from catalog.icons.declarations import icon_problem
from catalog.models import (
    Capability,
    Definition,
    Integration,
    OAuthClient,
    OAuthConnection,
    Sync,
)
from catalog.servers.cell.report import CellReport, report_for
from catalog.servers.client.server_problems import Reason
from catalog.servers.net.private_hosts import closed_host
from catalog.servers.oauth.accounts import find_account
from catalog.servers.program_network import ProgramNetwork, program_network
from catalog.servers.secrets.store import SecretState, list_secret_states
from discovery.example_requests.proposals import choose_tools
from marketplace.installs.integration_management import current_installation, previous_installation
from marketplace.integrations.listing import (
    IntegrationStatus,
    is_only_described,
    status_of_row,
    update_of,
    with_installations,
)
from marketplace.integrations.server_health import Health, health_of
from marketplace.models import Installation, InstallationEvent

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
