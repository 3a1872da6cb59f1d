"""Reviews of definitions, and of installations that wait for them."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import ngettext

from acl.audit.recorder import record
from acl.platform.task_names import SYNC_INTEGRATION, send_on_commit
from catalog.formats.descriptors import JSONObject
from catalog.formats.secret_redaction import redact_arguments, redact_text
from catalog.locks import lock_definitions
from catalog.models import Definition, Integration
from catalog.registration.admission import propose_changed_rows
from catalog.registration.definition_review import (
    ChangedSinceError,
    approve_definitions,
    forget_gone,
    list_waiting,
    reject_definitions,
    seen_digest,
)
from catalog.registration.integration_identity import connection_facts
from catalog.registration.tool_renames import Rename, rename_of
from catalog.servers.client.launch_rules import Launchers, check_command, command_digest
from catalog.servers.net.address_check import AllowedHosts, check_address
from catalog.trust.findings import Finding, read_findings
from catalog.trust.impersonation import find_namesakes, find_shadows
from catalog.trust.scanner import scan_definition
from catalog.trust.text_differences import FieldDifference, compare
from catalog.trust.tool_list import digest_text, parse_definition
from marketplace.installs.confirmation import ConnectionLine, connection_lines, digest_of_target
from marketplace.installs.requests import NotPermittedError, approve_install
from marketplace.installs.state import lock_installed
from marketplace.installs.store_step import tools_digest
from marketplace.models import Installation

# Words for what hangs on a tool, with its number.


def describe_hanging(hangs: Mapping[str, int]) -> list[str]:
    """Return what hangs on a tool in words, limits first."""
    return [_words(kind, number) % {"number": number} for kind, number in hangs.items()]


def _words(kind: str, number: int) -> str:
    """Return the words of one kind; each stands here whole, for its translation."""
    return {
        "deny": ngettext("%(number)d rule that denies", "%(number)d rules that deny", number),
        "propose": ngettext(
            "%(number)d rule that asks first", "%(number)d rules that ask first", number
        ),
        "allow": ngettext("%(number)d rule that allows", "%(number)d rules that allow", number),
        "grants": ngettext("%(number)d grant", "%(number)d grants", number),
        "presets": ngettext("%(number)d preset", "%(number)d presets", number),
        "quotas": ngettext("%(number)d quota", "%(number)d quotas", number),
        "flow_rules": ngettext("%(number)d flow rule", "%(number)d flow rules", number),
        "examples": ngettext("%(number)d example", "%(number)d examples", number),
        "learned": ngettext("%(number)d learned use", "%(number)d learned uses", number),
        "taught": ngettext("%(number)d taught message", "%(number)d taught messages", number),
        "relations": ngettext("%(number)d relation", "%(number)d relations", number),
        "settings": ngettext("%(number)d setting", "%(number)d settings", number),
    }[kind]


Standing = Definition.Standing
SHOWN = (*Definition.WAITING, Standing.GONE, Standing.REJECTED)


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """A tool's change, as the page shows it."""

    name: str
    standing: str
    seen: str
    findings: list[Finding]
    fields: list[FieldDifference]
    problem: str = ""
    origin: str = Definition.Origin.SERVER
    source: str = ""
    rename: Rename | None = None

    @property
    def hangs(self) -> list[str]:
        """Words for what hangs on the old name, each with its number."""
        return describe_hanging(self.rename.hangs) if self.rename else []

    @property
    def came_from(self) -> str:
        """Origin of the definition, as text."""
        words = str(Definition.Origin(self.origin).label)
        return f"{words} ({self.source})" if self.source else words

    @property
    def changed_fields(self) -> list[str]:
        """Labels of the changed fields."""
        return [field.label for field in self.fields if field.is_changed]


@dataclass(frozen=True, slots=True)
class ToReview:
    """Changes to review, each compared only when shown. `waiting` counts those to decide."""

    changes: list[Callable[[], DefinitionChange]]
    waiting: int
    is_update: bool = False


def to_review(integration: Integration, installation: Installation | None) -> ToReview:
    """Return pending changes first, then removed and rejected ones; or those of an update."""
    if (
        installation is not None and installation.kind != Installation.Kind.INSTALL
    ) and installation.changes:
        changes = changes_of_update(installation)
        return ToReview(changes, len(changes), is_update=True)
    propose_changed_rows(integration)
    definitions = Definition.objects.filter(integration=integration, standing__in=SHOWN)
    rows = sorted(
        definitions.order_by("name", "pk"), key=lambda row: SHOWN.index(Standing(row.standing))
    )
    waiting = sum(row.standing in Definition.WAITING for row in rows)
    return ToReview([partial(change_of, row) for row in rows], waiting)


def change_of(row: Definition) -> DefinitionChange:
    """Compare a definition with the approved one."""
    before, after = parse_definition(row.approved), parse_definition(row.proposed)
    if row.standing in (Standing.GONE, Standing.RETURNED):
        # It matches the approved text again: show the text in between on the left.
        before, after = (after or before), (before if row.standing == Standing.RETURNED else {})
    return DefinitionChange(
        row.name,
        row.standing,
        seen_digest(row),
        read_findings(row.findings),
        compare(before, after),
        row.problem,
        row.origin,
        row.source,
        rename_of(row) if row.standing in Definition.WAITING else None,
    )


def about_server(integration: Integration) -> list[Finding]:
    """Return findings about the server itself."""
    return find_namesakes(integration)


def waiting_install(integration: Integration) -> Installation | None:
    """Return the installation or update that waits for approval, if any."""
    waiting = Installation.State.NEEDS_APPROVAL
    return Installation.objects.filter(integration=integration, state=waiting).first()


def changes_of_update(installation: Installation) -> list[Callable[[], DefinitionChange]]:
    """Compare an update's tools with those in use, and scan the new ones."""
    new: dict[str, JSONObject] = {
        change["name"]: change["after"] for change in installation.changes if change.get("after")
    }
    tool_names = {str(tool.get("name", "")) for tool in installation.tools}
    shadows = find_shadows(installation.integration, new, tool_names)
    return [
        partial(_change_by_update, change, shadows.get(change["name"], []))
        for change in installation.changes
    ]


def _change_by_update(change: JSONObject, shadows: list[Finding]) -> DefinitionChange:
    before, after = change.get("before") or {}, change.get("after") or {}
    standing = {"added": Standing.NEW, "changed": Standing.CHANGED, "removed": Standing.GONE}
    findings = [*scan_definition(after), *shadows]
    return DefinitionChange(
        change["name"], standing[change["what"]], "", findings, compare(before, after)
    )


def seen_of(integration: Integration) -> str:
    """Return the digest of everything that waits, including an update's tools."""
    installation = waiting_install(integration)
    if installation and installation.kind != Installation.Kind.INSTALL:
        return tools_digest(installation.tools)
    rows = list_waiting(integration)
    return digest_text("\n".join(f"{row.name} {seen_digest(row)}" for row in rows))


def approve(
    *, by: User, integration: Integration, digests: Mapping[str, str], apart: Collection[str] = ()
) -> list[str]:
    """Approve definitions, and continue an installation that waited for the last of them.

    Those in `apart` do not get what hangs on their old names.
    """
    names = approve_definitions(by=by, integration=integration, digests=digests, apart=apart)
    _go_on(by, integration)
    return names


def keep_out(*, by: User, integration: Integration, digests: Mapping[str, str]) -> list[str]:
    """Reject definitions, and continue an installation that waited for the last of them."""
    names = reject_definitions(by=by, integration=integration, digests=digests)
    _go_on(by, integration)
    return names


@transaction.atomic
def approve_all(*, by: User, integration: Integration, digest: str) -> int:
    """Approve everything that waits; ChangedSinceError if it differs from what was seen."""
    lock_definitions(integration.pk)
    if digest != seen_of(integration):
        raise ChangedSinceError
    installation = waiting_install(integration)
    if installation is not None:
        before = len(installation.changes) or list_waiting(integration).count()
        return before if approve_install(by=by, installation=installation) else 0
    rows = {row.name: seen_digest(row) for row in list_waiting(integration) if not row.problem}
    return len(approve_definitions(by=by, integration=integration, digests=rows)) if rows else 0


def remove(*, by: User, integration: Integration, name: str) -> list[str]:
    """Remove a tool that its server no longer has, with its rights."""
    return forget_gone(by=by, integration=integration, names=[name])


def _go_on(by: User, integration: Integration) -> None:
    installation = waiting_install(integration)
    is_first = installation is not None and installation.kind == Installation.Kind.INSTALL
    if installation and is_first and not list_waiting(integration).exists():
        approve_install(by=by, installation=installation)


# Confirming imported integrations. Until then none is contacted or started.


class OtherTargetError(Exception):
    """Changed target: it differs from the one shown to the person."""


@dataclass(frozen=True, slots=True)
class Target:
    """Target of a confirmation, to be shown in full."""

    transport: str
    endpoint: str
    command: tuple[str, ...]
    required_secrets: tuple[str, ...]
    headers: dict[str, str]
    came_from: str
    digest: str
    connection: tuple[ConnectionLine, ...]

    @property
    def sign_in(self) -> tuple[ConnectionLine, ...]:
        """Facts of how an API is signed in to, and where."""
        return tuple(line for line in self.connection if line.part.startswith("security."))

    @property
    def is_program(self) -> bool:
        """True if it is started on this machine."""
        return self.transport == "stdio"


def target_to_confirm(integration: Integration) -> Target:
    """Return the target of an integration with its digest."""
    facts = connection_facts(integration)
    return Target(
        transport=integration.transport,
        endpoint=integration.endpoint,
        command=tuple(integration.command),
        required_secrets=tuple(integration.required_secrets),
        headers={str(name): str(text) for name, text in dict(facts["headers"]).items()},
        came_from=integration.came_from,
        digest=digest_of_target(integration),
        connection=connection_lines(integration),
    )


@transaction.atomic
def confirm_integration(*, by: User, integration: Integration, confirmed: str) -> bool:
    """Confirm an imported integration. Return False if it is confirmed already.

    Raises OtherTargetError if `confirmed` is not the digest of its current target,
    NotPermittedError for programs without the permission to install them, CommandNotAllowedError
    and EndpointNotAllowedError.
    """
    lock_installed(integration.pk)
    row = Integration.objects.select_for_update().filter(pk=integration.pk).first()
    if row is None or not row.unconfirmed:
        return False
    target = target_to_confirm(row)
    if confirmed != target.digest:
        raise OtherTargetError
    if target.is_program:
        if not by.has_perm("marketplace.install_stdio"):
            raise NotPermittedError
        check_command(target.command, Launchers.from_settings())
    elif target.endpoint:
        check_address(target.endpoint, AllowedHosts.from_settings())
    row.unconfirmed = False
    if target.is_program:
        row.command_digest = command_digest(target.command, target.required_secrets)
    row.save(update_fields=["unconfirmed", "command_digest", "updated_at"])
    details = {
        **connection_facts(row),
        # An address may be a secret itself, and entries are kept for good.
        "endpoint": redact_text(row.endpoint),
        "command": list(redact_arguments(row.command)[0]),
    }
    record(by=by, action="integration.confirm", target=row.slug, details=details)
    send_on_commit(SYNC_INTEGRATION, row.pk)
    return True
