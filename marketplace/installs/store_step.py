"""The step that writes: tools of a server, or what a listing without one brings.

A first installation writes what nobody can use while its integration is pending. An update puts
the new version and its tools in the place of the old ones, in one transaction.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from django.db import transaction

from catalog.formats.descriptors import Loaded
from catalog.models import Definition, Integration
from catalog.registration.admission import hold_integrations, review_integrations
from catalog.registration.definition_review import (
    approve_definitions,
    forget_gone,
    list_waiting,
    seen_digest,
    store_definitions,
)
from catalog.registration.register import register
from catalog.trust.fingerprint import parse_definition
from marketplace.installs.install_candidate import COLUMNS, put_into, read_back
from marketplace.installs.install_locks import lock_installed, lock_integration
from marketplace.installs.install_state import StoppedError, go
from marketplace.installs.listing_contents import contents_of, kept, kept_before
from marketplace.installs.tool_differences import differences, tools_digest
from marketplace.models import Installation

State = Installation.State


class NothingToInstallError(Exception):
    """A listing that brings nothing; the text says why."""

    code = "nothing_to_install"


def needs_a_look(installation: Installation) -> bool:
    """Whether a person has to see first how an update's tools differ from what is approved."""
    if installation.kind == Installation.Kind.INSTALL:
        return False
    changes = differences(_approved(installation.integration), installation.tools)
    seen = installation.approved_tools == tools_digest(installation.tools)
    if not changes or seen:
        return False
    told = {
        what: [one["name"] for one in changes if one["what"] == what]
        for what in ("added", "changed", "removed")
    }
    counts = ", ".join(f"{len(names)} {what}" for what, names in told.items() if names)
    with transaction.atomic():
        lock_integration(installation.integration_id)
        words = f"Its tools differ from those that are in use: {counts}. Look at them."
        go(installation, State.NEEDS_APPROVAL, words)
        Installation.objects.filter(pk=installation.pk).update(changes=changes)
    return True


def store_tools(installation: Installation, *, complete: bool) -> None:
    """Its tools, held against what is approved; what needs a look waits for it."""
    with _together(installation):
        integration = _locked(installation)
        # In one transaction with the move: who cancels now waits, or has cancelled all of it.
        go(installation, State.STORING, "Writes its tools into the catalogue.")
        _put_in_place(integration, installation)
        stored = store_definitions(
            integration=integration, tools=installation.tools, by=installation.by, complete=complete
        )
        if installation.kind == Installation.Kind.INSTALL:
            if installation.tools and not (
                stored.approved + stored.unchanged + len(stored.waiting)
            ):
                faults = "; ".join(f"{one.field} {one.reason}" for one in stored.defects[:3])
                raise NothingToInstallError(f"None of its tools can be used: {faults}")
            to = State.NEEDS_APPROVAL if stored.needs_review else State.EMBEDDING
            go(installation, to, stored.told)
            return
        approve_all(installation)
        go(installation, State.EMBEDDING, f"{len(installation.tools)} tools are stored.")


def approve_all(installation: Installation) -> None:
    """Pin what was seen with the installation; what is gone goes with its rights."""
    integration, by = installation.integration, installation.approved_by or installation.by
    if by is None:
        return
    readable = [row for row in list_waiting(integration) if not row.problem]
    if installation.kind != Installation.Kind.INSTALL:
        # An update shows how its tools differ. The integration's own texts wait for a review.
        readable = [row for row in readable if row.name]
    if readable:
        seen = {row.name: seen_digest(row) for row in readable}
        approve_definitions(by=by, integration=integration, seen=seen)
    gone = Definition.objects.filter(integration=integration, standing=Definition.Standing.GONE)
    forget_gone(by=by, integration=integration, names=list(gone.values_list("name", flat=True)))


def store_contents(installation: Installation) -> None:
    """Store what a listing without a server brings, as far as it passes the gate."""
    descriptor = read_back(installation.descriptor)
    is_back = installation.kind == Installation.Kind.ROLL_BACK
    loaded = kept_before(descriptor, installation.tools) if is_back else contents_of(descriptor)
    if not loaded.capabilities:
        reasons = "; ".join(str(defect) for defect in loaded.defects) or "It is empty."
        raise NothingToInstallError(reasons)
    with _together(installation):
        integration = _locked(installation)
        go(installation, State.STORING, "Writes what it brings into the catalogue.")
        _put_in_place(integration, installation)
        Installation.objects.filter(pk=installation.pk).update(tools=kept(loaded))
        report = register(
            loaded,
            by=installation.by,
            source=integration.slug,
            origin=Definition.Origin.LISTING,
            came_from=integration.came_from,
            prune=True,
        )
        if not report.loaded:
            raise NothingToInstallError("; ".join(map(str, report.defects)))
        told = f"{report.loaded} capabilities are stored."
        if report.held and _was_seen(installation, loaded):
            approve_all(installation)
        elif report.held:
            told = f"{', '.join(report.held[:5])}: look at what was found in the text."
            go(installation, State.NEEDS_APPROVAL, told)
            return
        go(installation, State.EMBEDDING, told)


def _was_seen(installation: Installation, loaded: Loaded) -> bool:
    """Return True if a person has approved exactly this content."""
    seen = installation.approved_tools
    return installation.approved_by_id is not None and seen == tools_digest(kept(loaded))


@contextmanager
def _together(installation: Installation) -> Iterator[None]:
    """All of it or nothing; where nothing, the installation is where it was."""
    before = installation.state
    try:
        with transaction.atomic():
            yield
    except BaseException:
        installation.state = before
        raise


def _locked(installation: Installation) -> Integration:
    """The integration's row, in the order in which everybody locks; StoppedError where it is
    gone."""
    lock_installed(installation.integration_id)
    row = Integration.objects.select_for_update().filter(pk=installation.integration_id).first()
    if row is None:
        raise StoppedError
    installation.integration = row
    return row


def _put_in_place(integration: Integration, installation: Installation) -> None:
    """Overwrite the row. Texts of its own that are held wait, and the row keeps those it has."""
    described = replace(read_back(installation.descriptor), slug=integration.slug)
    (reviewed,) = review_integrations([described])
    put_into(integration, installation, reviewed)
    integration.save(update_fields=COLUMNS)
    origin = Definition.Origin.LISTING
    hold_integrations([described], {integration.slug: integration}, origin=origin)


def _approved(integration: Integration) -> dict[str, dict[str, object]]:
    rows = Definition.objects.filter(integration=integration).exclude(approved_hash="")
    return {row.name: parse_definition(row.approved) for row in rows.order_by("pk")}
