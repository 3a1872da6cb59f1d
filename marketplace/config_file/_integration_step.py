"""Applying integrations. A new one, or one with another target, waits for a confirmation.

Nothing is contacted or started from here: whatever the file names is registered as an import is,
through the gate, and an admin confirms its command or address on the page.
"""

from typing import Any

from catalog.access.grants import set_application_executes, set_requestable, set_restricted
from catalog.formats.descriptors import IntegrationDescriptor, Loaded
from catalog.formats.secret_redaction import REDACTED, redact_arguments, redact_text
from catalog.models import Integration
from catalog.models.integration import ReviewState
from catalog.readiness.obstacles import OWN_INTEGRATIONS
from catalog.registration.register import register
from catalog.servers.net.private_hosts import (
    allow_private_host,
    forget_private_host,
    list_private_hosts,
)
from catalog.servers.program_network import set_network
from catalog.servers.secrets.store import set_own_secrets
from discovery.calls.quotas import set_call_limit
from marketplace.config_file._application import FileRun
from marketplace.config_file._document import IntegrationEntry
from marketplace.config_file.export_service import (
    exported_integrations,
    headers_of,
    integration_entry,
    redact_header,
)
from marketplace.config_file.text import Path
from marketplace.installs.integration_management import NotReadyError, set_enabled, uninstall
from marketplace.installs.own_servers import allow_own_servers
from marketplace.models import Installation

CAME_FROM = "configuration"
_DESCRIBED = (
    *("kind", "title", "description", "publisher", "version", "licence", "homepage"),
    *("transport", "endpoint", "command", "required_secrets", "headers"),
)
# The operations of an API were chosen from its document, and are no part of the file either.
_WITH_CONTENTS = ("", "openapi")


def apply_allowed_hosts(work: FileRun) -> None:
    """Allow the file's hosts of one's own network; with `prune`, close the others."""
    entries = work.document.allowed_hosts
    if entries is None:
        return
    hosts = set()
    for place, text in enumerate(entries):
        with work.at(("allowed_hosts", place)):
            hosts.add(str(allow_private_host(by=work.by, text=text)))
    for row in list_private_hosts() if work.prune else ():
        if str(row) not in hosts:
            forget_private_host(by=work.by, text=str(row))


def apply_own_servers(work: FileRun) -> None:
    """Allow or forbid servers of people's own, if the file says which."""
    if work.document.own_servers is not None:
        allow_own_servers(by=work.by, allowed=work.document.own_servers)


def apply_integrations(work: FileRun) -> None:
    """Register the file's integrations and change settings; with `prune` uninstall the others."""
    entries = work.document.integrations
    if entries is None:
        return
    stored = {row.slug: row for row in Integration.objects.filter(owner=None)}
    for place, entry in enumerate(entries):
        path: Path = ("integrations", place)
        if entry.slug in {earlier.slug for earlier in entries[:place]}:
            work.refuse((*path, "slug"), f"the integration {entry.slug!r} is there twice")
            continue
        row = _stored_as_described(work, path, entry, stored.get(entry.slug))
        if row is not None:
            _apply_settings(work, path, entry, row)
    slugs = {entry.slug for entry in entries}
    for row in exported_integrations() if work.prune else ():
        if row.slug not in slugs:
            uninstall(by=work.by, integration=row)


def _stored_as_described(
    work: FileRun, path: Path, entry: IntegrationEntry, row: Integration | None
) -> Integration | None:
    """Return the row after registration, or None if it is not here yet."""
    if row is None and entry.transport in _WITH_CONTENTS:
        next_step = (
            f"install {entry.listing} from the marketplace" if entry.listing else "import it"
        )
        work.wait(path, f"{entry.slug} has contents that no configuration holds: {next_step}")
        return None
    if row is not None and row.state == ReviewState.PENDING:
        work.wait(path, f"{entry.slug} is being installed")
        return None
    changed = _changed_fields(entry, row)
    if row is not None and not changed:
        return row
    if row is not None and row.slug in OWN_INTEGRATIONS:
        work.wait(path, f"{entry.slug} is described by Pegboard itself: its settings alone apply")
        return row
    if row is not None and (
        entry.transport == "openapi" or Installation.objects.filter(integration=row).exists()
    ):
        fields = ", ".join(changed)
        advice = "update it or roll it back under Integrations, or export again"
        work.wait(path, f"{entry.slug} is installed with another {fields}: {advice}")
        return row
    if not _is_without_secrets(work, path, entry, row):
        return None
    return _register(work, path, entry, row)


def _register(
    work: FileRun, path: Path, entry: IntegrationEntry, row: Integration | None
) -> Integration | None:
    values = _descriptor_values(entry, row)
    report = register(
        Loaded(integrations=(IntegrationDescriptor(**values),)),
        by=work.by,
        source=CAME_FROM,
        came_from=row.came_from if row is not None else CAME_FROM,
    )
    for defect in report.defects:
        work.refuse(path, str(defect.reason))
    if entry.slug in report.held:
        work.wait(path, f"the texts of {entry.slug} wait for a review under Integrations")
    stored = Integration.objects.filter(slug=entry.slug).first()
    if stored is None or report.defects:
        return stored
    if "listing" in entry.model_fields_set:
        Integration.objects.filter(pk=stored.pk).update(listing=entry.listing)
    if headers_of(stored) != values["source_ref"].get("headers", {}):
        # A registration does not look at headers alone. They are part of what is confirmed.
        stored.source_ref, stored.unconfirmed = values["source_ref"], True
        stored.save(update_fields=["source_ref", "unconfirmed", "updated_at"])
    return stored


def _descriptor_values(entry: IntegrationEntry, row: Integration | None) -> dict[str, Any]:
    """Return the descriptor's fields: the file's, else the stored ones."""
    values: dict[str, Any] = {"slug": entry.slug}
    for name in _DESCRIBED:
        is_given = row is None or name in entry.model_fields_set
        value = (
            getattr(entry, name)
            if is_given
            else dict((row.source_ref if row else {}).get("headers") or {})
            if name == "headers"
            else getattr(row, name)
        )
        # Redacted when it was exported: it means what is stored.
        if row is not None and REDACTED in str(value):
            value = getattr(row, name)
        values[name] = tuple(value) if isinstance(value, list) else value
    headers = values.pop("headers")
    reference = {n: v for n, v in (row.source_ref if row else {}).items() if n != "headers"}
    return values | {"source_ref": {**reference, "headers": headers} if headers else reference}


def _changed_fields(entry: IntegrationEntry, row: Integration | None) -> list[str]:
    """Return the given fields that differ from what an export of the row would say."""
    if row is None:
        return list(_DESCRIBED)
    stored = integration_entry(row)
    names = [name for name in (*_DESCRIBED, "listing") if name in entry.model_fields_set]
    empty = IntegrationEntry(slug=entry.slug, kind=entry.kind, title=entry.title)
    return [n for n in names if getattr(entry, n) != stored.get(n, getattr(empty, n))]


def _is_without_secrets(
    work: FileRun, path: Path, entry: IntegrationEntry, row: Integration | None
) -> bool:
    """Refuse a file that has a secret in an address, a command or a header."""
    places: list[Path] = []
    if redact_text(entry.endpoint) != entry.endpoint:
        places.append((*path, "endpoint"))
    places += [(*path, "command", place) for place in redact_arguments(entry.command)[1]]
    for name, value in entry.headers.items():
        if redact_header(name, value) != value:
            places.append((*path, "headers", name))
    for place in places:
        work.refuse(place, "looks like a secret: write ${NAME} instead, and set that secret")
    if row is None and REDACTED in f"{entry.endpoint} {entry.command} {entry.headers}":
        advice = "write ${NAME} instead, and set that secret"
        work.wait(path, f"{entry.slug} was exported without its secret: {advice}")
        return False
    return not places


def _apply_settings(work: FileRun, path: Path, entry: IntegrationEntry, row: Integration) -> None:
    if entry.enabled is not None and entry.enabled != row.enabled:
        try:
            set_enabled(by=work.by, integration=row, enabled=entry.enabled)
        except NotReadyError as problem:
            work.wait((*path, "enabled"), f"{row.slug}: {problem}")
    if entry.restricted is not None:
        set_restricted(by=work.by, integration=row, restricted=entry.restricted)
    if entry.requestable is not None:
        set_requestable(by=work.by, integration=row, requestable=entry.requestable)
    if entry.application_executes is not None:
        set_application_executes(by=work.by, integration=row, executes=entry.application_executes)
    if entry.calls_per_minute is not None:
        set_call_limit(by=work.by, integration=row, a_minute=entry.calls_per_minute)
    if entry.own_secrets is not None:
        set_own_secrets(by=work.by, integration=row, allowed=entry.own_secrets)
    if entry.network is not None or entry.allowed_hosts is not None:
        hosts = row.allowed_hosts if entry.allowed_hosts is None else entry.allowed_hosts
        with work.at((*path, "allowed_hosts")):
            if sorted(hosts) != sorted(row.allowed_hosts) or entry.network != row.network:
                whole = (entry.network or row.network) == Integration.Network.ALL
                set_network(by=work.by, integration=row, whole=whole, hosts=hosts)
    if row.unconfirmed:
        what = "command" if row.transport == "stdio" else "address"
        work.notes.append(f"Confirm the {what} of {row.slug} under Integrations.")
    for name in row.required_secrets:
        work.notes.append(f"{row.slug} needs the secret {name}, unless it is set.")
