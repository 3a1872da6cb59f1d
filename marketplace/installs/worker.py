"""The worker's part of an installation: idempotent steps, one after the other.

Steps before `storing` write nothing that is in use. `storing` writes tools that nobody can use yet,
or replaces the old version by the new one. The last step makes a first installation available.
"""

from datetime import timedelta
from functools import partial

from celery import shared_task
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from acl.platform.jobs import GAVE_UP, GAVE_UP_MESSAGE, lock_unless_taken, overdue, send_again
from acl.platform.task_names import CLEAN_UP_INSTALLATIONS, INSTALL, SWEEP_INSTALLATIONS
from catalog.access.grants import grant_integrations
from catalog.access.rules import add_rule
from catalog.embedding.jobs import failed_embeddings, pending_embeddings
from catalog.formats.descriptors import column_values
from catalog.formats.package_names import Package, parse_package
from catalog.models import Integration, Rule, Secret
from catalog.models.integration import ReviewState
from catalog.readiness.obstacles import still_needed
from catalog.servers.client.launch_rules import CommandNotAllowedError, Launchers, check_command
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.connections.health_history import record_health
from catalog.servers.connections.server_requests import (
    close_all_but,
    close_connection,
    note_announced,
    probe_server,
)
from catalog.servers.net.address_check import AllowedHosts, EndpointNotAllowedError, check_address
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from catalog.servers.secrets.sealed_values import values_for
from marketplace.installs.confirmation import digest_to_confirm
from marketplace.installs.package_step import (
    NoFreeSlotError,
    compile_package,
    discard_place,
    fetch_package,
    find_newest_version,
    is_in_place,
)
from marketplace.installs.packages.client import Watch
from marketplace.installs.packages.folders import PackageProblemError, Place, remove_all_but
from marketplace.installs.packages.pypi import (
    can_resolve,
    find_dated_bounds,
    find_definers,
    read_modules,
    read_requirements,
)
from marketplace.installs.packages.suggested_bounds import name_cause, suggest_bounds
from marketplace.installs.state import (
    StoppedError,
    advance,
    build_candidate,
    from_json,
    lock_installed,
    lock_integration,
    transition,
    undo_install,
)
from marketplace.installs.store_step import (
    NothingToInstallError,
    request_tool_review,
    store_contents,
    store_tools,
)
from marketplace.models import Installation

__all__ = ["MOST_ATTEMPTS", "StoppedError", "install", "overdue_installations"]
State = Installation.State
MOST_ATTEMPTS = 5
# Longer than any single step, so that no other worker takes over from one that is alive.
STEP_SECONDS = 180


class GaveUpError(Exception):
    """The maximum number of attempts was reached."""

    code = GAVE_UP

    def __init__(self) -> None:
        super().__init__(GAVE_UP_MESSAGE)


class SecretMissingError(Exception):
    """Required secrets are not set."""

    code = "needs_secret"

    def __init__(self, names: list[str]) -> None:
        secrets = "this secret" if len(names) == 1 else "these secrets"
        super().__init__(f"Set {secrets}, and try again: {', '.join(names)}.")


def install(pk: int) -> bool:
    """Advance an installation as far as possible. Problems are recorded in its row.

    Return True if it should be called again soon: it waits for vectors, or for a free slot.
    """
    installation = _claim(pk)
    if installation is None:
        return False
    try:
        if installation.state == State.CONFIGURE:
            _resolve(installation)
        elif installation.state != State.EMBEDDING:
            _run_steps(installation)
        return installation.state == State.EMBEDDING and not _finish_when_embedded(installation)
    except StoppedError:
        # Remove what a cancelled installation left, but nothing that another worker uses.
        discard_place(installation)
        if not Installation.objects.filter(pk=pk).exists():
            close_connection(installation.integration)
        return False
    except NoFreeSlotError:
        Installation.objects.filter(pk=pk).update(attempts=F("attempts") - 1)
        return True
    except SecretMissingError as missing:
        # Nothing was written that would have to be undone, and a fetched package stays.
        transition(installation, State.NEEDS_SECRET, reason=missing.code, message=str(missing))
        return False
    except _EXPECTED as problem:
        _fail(installation, problem)
        return False


def _claim(pk: int) -> Installation | None:
    """Lock the installation and count the attempt, before work that may kill the process."""
    working = Installation.objects.filter(_PENDING_WORK, pk=pk)
    integration = working.values_list("integration", flat=True).first()
    if integration is None:
        return None
    with transaction.atomic():
        lock_integration(integration)
        row = lock_unless_taken(working.select_related("integration", "by"))
        if row is None:
            return None
        gives_up = row.attempts >= MOST_ATTEMPTS
        # A dead worker's steps before `storing` wrote nothing, so the installation starts over.
        if row.state not in (State.CONFIGURE, State.QUEUED, State.EMBEDDING):
            transition(row, State.QUEUED, message=gettext_noop("Starting again."))
        counts = int(row.state != State.EMBEDDING)
        working.update(attempts=F("attempts") + counts, sent_at=Now())
    if gives_up:
        _fail(row, GaveUpError())
        return None
    return row


def _resolve(installation: Installation) -> None:
    """Look up the exact version to install, so that a person can confirm it."""
    check_command(("uvx", "a==1") if _is_python(installation) else ("npx", "a@1.0.0"), _launchers())
    package = find_newest_version(installation)
    descriptor = from_json(
        {**installation.descriptor, "version": package.version, "command": package.command()}
    )
    digest = digest_to_confirm(descriptor, installation.constraints)
    row = Installation.objects.filter(pk=installation.pk, state=State.CONFIGURE)
    with transaction.atomic():
        lock_integration(installation.integration_id)
        message = f"{package.name} {package.version} is the newest version. Confirm its command."
        advance(installation, State.CONFIGURE, message)
        row.update(descriptor=column_values(descriptor), command_digest=digest)


def _run_steps(installation: Installation) -> None:
    if not installation.descriptor.get("transport"):
        advance(installation, State.FETCHING, gettext_noop("Nothing to fetch."))
        store_contents(installation)
        return
    _check_command(installation)
    # Stop before anything is fetched if a required secret is not set.
    values = values_for(installation.integration)
    source_ref = installation.descriptor.get("source_ref") or {}
    missing = still_needed(
        list(installation.descriptor.get("required_secrets") or ()), source_ref, values
    )
    if missing:
        raise SecretMissingError(missing)
    fetch_package(installation)
    advance(installation, State.CHECKING, gettext_noop("Checking files, address and secrets."))
    if installation.descriptor["transport"] != "stdio":
        check_address(installation.descriptor["endpoint"], AllowedHosts.from_settings())
    advance(installation, State.CONNECTING, gettext_noop("Connecting to the server."))
    tools = probe_server(build_candidate(installation))
    advance(
        installation, State.LISTING, f"Found {len(tools.tools)} tools. {tools.left_out}".strip()
    )
    installation.tools = tools.tools
    Installation.objects.filter(pk=installation.pk).update(tools=tools.tools)
    note_announced(installation.integration, tools)
    if not request_tool_review(installation):
        store_tools(installation, complete=not tools.left_out, defects=tools.defects)


def _check_command(installation: Installation) -> None:
    """Check that the command is still allowed, and is the one that was confirmed."""
    descriptor = from_json(installation.descriptor)
    if descriptor.transport != "stdio":
        return
    check_command(descriptor.command, _launchers())
    if digest_to_confirm(descriptor, installation.constraints) != installation.command_digest:
        raise CommandNotAllowedError("The command differs from the one that was confirmed.")


def _finish_when_embedded(installation: Installation) -> bool:
    """Finish once all vectors are written. Return False while some are pending."""
    integration = installation.integration
    of_integration = {"capability__integration": integration}
    # If embedding failed, the tools are still found by their words.
    if (
        pending_embeddings().filter(**of_integration).exists()
        and not failed_embeddings().filter(**of_integration).exists()
    ):
        return False
    with transaction.atomic():
        lock_installed(integration.pk)
        advance(installation, State.READY, gettext_noop("Ready."))
        if installation.kind == Installation.Kind.INSTALL:
            Integration.objects.filter(pk=integration.pk).update(
                enabled=True, state=ReviewState.APPROVED
            )
            _grant(installation)
        if integration.transport:
            record_health(integration, tools=len(installation.tools))
    return True


def _grant(installation: Installation) -> None:
    """Grant the integration to whole groups, and allow it by rules in single spaces."""
    integration, by = installation.integration, installation.by
    for group in installation.groups.order_by("name", "pk"):
        grant_integrations(integrations=[integration], group=group, by=by)
    for space in installation.spaces.select_related("group").order_by("pk"):
        add_rule(by=by, space=space, effect=Rule.Effect.ALLOW, integration=integration)


def _fail(installation: Installation, problem: Exception) -> None:
    """Record the failure, and undo everything that a retry cannot reuse."""
    reason, message = _explain(problem)
    offered = _suggest_bounds(installation, problem)
    if offered:
        hint = "It was written for an earlier version of its dependencies."
        message = f"{message}\n{hint} It may work with {', '.join(offered)}: try again with that."
    elif reason == Reason.CRASHED:
        if cause := name_cause(getattr(problem, "detail", "")):
            message = f"{message}\n{cause}"
        else:
            message = f"{message}\nThe cause is unknown. The end of its log is above."
    # A retry fetches nothing twice. With the offered bounds it needs other files.
    keeps = isinstance(problem, ServerProblemError) and not offered and is_in_place(installation)
    with transaction.atomic():
        lock_installed(installation.integration_id)
        if transition(installation, State.FAILED, reason=reason, message=message):
            place = installation.place if keeps else ""
            Installation.objects.filter(pk=installation.pk).update(offered=offered, place=place)
            undo_install(installation)
    if not keeps:
        discard_place(installation)


def _suggest_bounds(installation: Installation, problem: Exception) -> list[str]:
    """Return bounds that may help a crashing package: first by its traceback, then by its date."""
    package = parse_package(installation.command)
    if package is None or package.index != "pypi" or not installation.place:
        return []
    if not isinstance(problem, ServerProblemError) or problem.reason != Reason.CRASHED:
        return []
    place, watch, tried = Place(installation.place), Watch(), installation.constraints
    # Once only: what crashes with the libraries of its day has another cause.
    dated = any("<=" in bound for bound in tried)
    # Beside those that were tried: a second library may be too new as well.
    bounds = [] if dated else _bounds_by_traceback(installation, package, problem)
    bounds = [] if set(bounds) <= set(tried) else [*tried, *bounds]
    if 0 < len(bounds) <= _MOST_BOUNDS and can_resolve(package, place, watch, bounds):
        return bounds
    return [] if dated else find_dated_bounds(package, place, watch)


def _bounds_by_traceback(
    installation: Installation, package: Package, problem: ServerProblemError
) -> list[str]:
    versions = {name: version for name, version, _ in installation.package.get("artefacts", ())}
    place = Place(installation.place)
    return suggest_bounds(
        read_requirements(package, place),
        versions,
        read_modules(place),
        problem.detail,
        package=package.name,
        definers=partial(find_definers, place),
    )


def _explain(problem: Exception) -> tuple[str, str]:
    if isinstance(problem, ServerProblemError):
        return problem.reason, f"{problem}\n{problem.detail}".strip()
    return getattr(problem, "code", "failed"), str(problem)


def _launchers() -> Launchers:
    return Launchers.from_settings()


def _is_python(installation: Installation) -> bool:
    package = parse_package(installation.command)
    return package is not None and package.index == "pypi"


def overdue_installations() -> QuerySet[Installation]:
    """Return installations whose task or worker was lost."""
    between = Q(state__in=_BETWEEN) & overdue()
    within = Q(state__in=_WITHIN) | Q(state=State.CONFIGURE, command_digest="")
    return Installation.objects.filter(between | (within & overdue(at_least=STEP_SECONDS)))


_MOST_BOUNDS = 3  # by tracebacks, one after the other
_EXPECTED = (
    ServerProblemError,
    SecretUnavailableError,
    CommandNotAllowedError,
    EndpointNotAllowedError,
    PackageProblemError,
    NothingToInstallError,
)
# Work for a worker. A version that was found waits for a person instead.
_PENDING_WORK = Q(state__in=Installation.WORKING) | Q(state=State.CONFIGURE, command_digest="")
_BETWEEN = (State.QUEUED, State.EMBEDDING)
_WITHIN = tuple(state for state in Installation.WORKING if state not in _BETWEEN)


# The first wait for vectors or a free slot; each further one is half as long again, up to the last.
_RETRY_SECONDS, _MOST_RETRY_SECONDS = 0.5, 10.0


@shared_task(name=INSTALL)  # type: ignore[untyped-decorator]
def install_server(pk: int, waited: float = 0.0) -> None:
    """Advance an installation; while it waits, run again soon. Then compile its package."""
    if install(pk):
        wait = min(_MOST_RETRY_SECONDS, max(_RETRY_SECONDS, 1.5 * waited))
        install_server.apply_async([pk, wait], countdown=wait)
    else:
        compile_package(pk)


@shared_task(name=SWEEP_INSTALLATIONS)  # type: ignore[untyped-decorator]
def sweep_installations() -> None:
    """Resend overdue installations, and clean up."""
    send_again(INSTALL, overdue_installations())
    clean_up()


@shared_task(name=CLEAN_UP_INSTALLATIONS)  # type: ignore[untyped-decorator]
def clean_up_after_changes() -> None:
    """Clean up after something was removed, disabled or cancelled."""
    clean_up()


# The version in use, and the one before it for a rollback.
_KEPT_VERSIONS = 2
# So that "Try again" fetches nothing twice. Nobody may ever press it.
_KEPT_FOR_RETRY = timedelta(days=1)


def clean_up() -> None:
    """Remove unreferenced folders, and close unused connections."""
    remove_all_but(referenced_folders)
    serving = Integration.objects.filter(enabled=True, state=ReviewState.APPROVED)
    close_all_but(set(serving.values_list("pk", flat=True)))


def referenced_folders() -> set[str]:
    """Return the names of folders that a row refers to."""
    homes = {f"home-{pk}" for pk in Integration.objects.values_list("pk", flat=True)}
    owners = Secret.objects.exclude(user=None).values_list("integration", "user").distinct()
    homes |= {f"home-{pk}-{user}" for pk, user in owners.order_by()}
    in_progress = (*Installation.WORKING, State.CONFIGURE, State.NEEDS_APPROVAL)
    with_place = Installation.objects.exclude(place="")
    retried = Q(state__in=(State.FAILED, State.NEEDS_SECRET))
    in_use = Q(state__in=in_progress) | retried & Q(updated_at__gt=Now() - _KEPT_FOR_RETRY)
    places = set(with_place.filter(in_use).values_list("place", flat=True))
    served: dict[int, list[str]] = {}
    ready = with_place.filter(state=State.READY).order_by("-pk")
    for integration, place in ready.values_list("integration", "place"):
        newest_places = served.setdefault(integration, [])
        if place not in newest_places and len(newest_places) < _KEPT_VERSIONS:
            newest_places.append(place)
    serving = Integration.objects.exclude(package={}).values_list("package__place", flat=True)
    return (
        homes
        | places
        | set(serving)
        | {place for newest_places in served.values() for place in newest_places}
    )
