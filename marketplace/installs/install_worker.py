"""The worker's part of an installation: one step after the other, each safe to do twice.

Everything up to `storing` only looks, beside whatever serves; that writes what nobody can use yet,
or puts the new version in the place of the old one; the last step shows it.
"""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from catalog.access.grants import grant_integrations
from catalog.access.rules import add_rule
from catalog.embedding.embedding_jobs import failed_embeddings, pending_embeddings
from catalog.formats.package_names import parse_package
from catalog.models import Integration, Rule
from catalog.models.integration import ReviewState
from catalog.servers.client.launch_rules import CommandNotAllowedError, Launchers, check_command
from catalog.servers.client.mcp_session import Tools
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.connections.health_history import record_health
from catalog.servers.connections.probe import probe_server
from catalog.servers.connections.server_requests import close_connection
from catalog.servers.net.address_check import AllowedHosts, check_address
from catalog.servers.net.outgoing_errors import EndpointNotAllowedError
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from marketplace.installs.command_confirmation import digest_to_confirm
from marketplace.installs.install_candidate import candidate_of, read_back, written
from marketplace.installs.install_locks import lock_installed, lock_integration
from marketplace.installs.install_rollback import withdraw
from marketplace.installs.install_state import StoppedError, go, move
from marketplace.installs.package_step import (
    NoRoomError,
    fetch,
    find_newest,
    forget_place,
    is_in_place,
)
from marketplace.installs.packages.package_folders import Place
from marketplace.installs.packages.package_problem import PackageProblemError
from marketplace.installs.packages.pypi import wanted_by
from marketplace.installs.packages.suggested_bounds import bounds_that_may_help
from marketplace.installs.store_step import (
    NothingToInstallError,
    needs_a_look,
    store_contents,
    store_tools,
)
from marketplace.models import Installation

__all__ = ["MOST_ATTEMPTS", "StoppedError", "install", "overdue"]
State = Installation.State
MOST_ATTEMPTS = 5
# Longer than any single step may take: a worker that lives is not overtaken.
STEP_SECONDS = 180


class GaveUpError(Exception):
    """It has been tried often enough."""

    code = "gave_up"


def install(pk: int) -> bool:
    """Take an installation as far as it goes now; True where it waits for its vectors.

    Also True where it has to wait for its turn. What goes wrong is told in its row.
    """
    installation = _claim(pk)
    if installation is None:
        return False
    try:
        if installation.state == State.CONFIGURE:
            _resolve(installation)
        elif installation.state != State.EMBEDDING:
            _work(installation)
        return installation.state == State.EMBEDDING and not _show_when_embedded(installation)
    except StoppedError:
        _clear_away(pk, installation)
        return False
    except NoRoomError:
        Installation.objects.filter(pk=pk).update(attempts=F("attempts") - 1)
        return True
    except _KNOWN as problem:
        _fail(installation, problem)
        return False


def _claim(pk: int) -> Installation | None:
    """The installation, its attempt counted before the work that may end the process."""
    working = Installation.objects.filter(_TO_DO, pk=pk)
    integration = working.values_list("integration", flat=True).first()
    if integration is None:
        return None
    with transaction.atomic():
        lock_integration(integration)
        row = (
            working.select_for_update(skip_locked=True, of=("self",))
            .select_related("integration", "by")
            .first()
        )
        if row is None:
            return None
        given_up = row.attempts >= MOST_ATTEMPTS
        # Whatever it was at when its worker died only looked, or can be done again.
        if row.state not in (State.CONFIGURE, State.QUEUED, State.EMBEDDING):
            move(row, State.QUEUED, message="Begins again.")
        counts = int(row.state != State.EMBEDDING)
        working.update(attempts=F("attempts") + counts, sent_at=Now())
    if given_up:
        _fail(row, GaveUpError("It ended the worker every time."))
        return None
    return row


def _resolve(installation: Installation) -> None:
    """Find the exact version that would be installed, so that a person can confirm it."""
    check_command(("uvx", "a==1") if _is_python(installation) else ("npx", "a@1.0.0"), _launchers())
    package = find_newest(installation)
    descriptor = read_back(
        {**installation.descriptor, "version": package.version, "command": package.command()}
    )
    digest = digest_to_confirm(descriptor, installation.constraints)
    row = Installation.objects.filter(pk=installation.pk, state=State.CONFIGURE)
    with transaction.atomic():
        lock_integration(installation.integration_id)
        told = f"{package.name} {package.version} is the newest version. Confirm its command."
        go(installation, State.CONFIGURE, told)
        row.update(descriptor=written(descriptor), command_digest=digest)


def _work(installation: Installation) -> None:
    if not installation.descriptor.get("transport"):
        go(installation, State.FETCHING, "Nothing has to be fetched.")
        store_contents(installation)
        return
    _check_command(installation)
    fetch(installation)
    go(installation, State.CHECKING, "Looks at the files, the address and the secrets.")
    _check(installation)
    go(installation, State.CONNECTING, "Starts or reaches the server.")
    tools = probe_server(candidate_of(installation))
    go(installation, State.LISTING, f"It has {len(tools.tools)} tools. {tools.left_out}".strip())
    _keep_tools(installation, tools)
    if not needs_a_look(installation):
        store_tools(installation, complete=not tools.left_out)


def _check_command(installation: Installation) -> None:
    """Before anything is fetched or started: it is what was confirmed, and still allowed."""
    descriptor = read_back(installation.descriptor)
    if descriptor.transport != "stdio":
        return
    check_command(descriptor.command, _launchers())
    if digest_to_confirm(descriptor, installation.constraints) != installation.command_digest:
        raise CommandNotAllowedError("The command is not the one that was confirmed.")


def _check(installation: Installation) -> None:
    if installation.descriptor["transport"] != "stdio":
        check_address(installation.descriptor["endpoint"], AllowedHosts.from_settings())
    elif installation.place and not is_in_place(installation):
        raise ServerProblemError(Reason.FILES_CHANGED)


def _keep_tools(installation: Installation, tools: Tools) -> None:
    installation.tools = tools.tools
    Installation.objects.filter(pk=installation.pk).update(tools=tools.tools)


def _show_when_embedded(installation: Installation) -> bool:
    """Show it once it can be found by meaning, or cannot be: by its words it is found anyway."""
    integration = installation.integration
    own = {"capability__integration": integration}
    if (
        pending_embeddings().filter(**own).exists()
        and not failed_embeddings().filter(**own).exists()
    ):
        return False
    with transaction.atomic():
        lock_installed(integration.pk)
        go(installation, State.READY, "Ready.")
        if installation.kind == Installation.Kind.INSTALL:
            Integration.objects.filter(pk=integration.pk).update(
                enabled=True, state=ReviewState.APPROVED
            )
            _give(installation)
        if integration.transport:
            record_health(integration, tools=len(installation.tools))
    return True


def _give(installation: Installation) -> None:
    """To whole groups by grants, to single spaces by rules there."""
    integration, by = installation.integration, installation.by
    for group in installation.groups.order_by("name", "pk"):
        grant_integrations(integrations=[integration], group=group, by=by)
    for space in installation.spaces.select_related("group").order_by("pk"):
        add_rule(by=by, space=space, effect=Rule.Effect.ALLOW, integration=integration)


def _fail(installation: Installation, problem: Exception) -> None:
    """Say why, and leave nothing behind but what a retry can use."""
    reason, message = _told(problem)
    offered = _offer(installation, problem)
    if offered:
        told = "It was made for an earlier version of what it needs."
        message = f"{message}\n{told} It may work with {', '.join(offered)}: try again with that."
    with transaction.atomic():
        lock_installed(installation.integration_id)
        if move(installation, State.FAILED, reason=reason, message=message):
            Installation.objects.filter(pk=installation.pk).update(offered=offered, place="")
            withdraw(installation)
    forget_place(installation)


def _offer(installation: Installation, problem: Exception) -> list[str]:
    """Bounds that may help a package that crashes, unless it has some already."""
    package = parse_package(installation.command)
    if package is None or package.index != "pypi" or installation.constraints:
        return []
    if not isinstance(problem, ServerProblemError) or problem.reason != Reason.CRASHED:
        return []
    versions = {name: version for name, version, _ in installation.package.get("artefacts", ())}
    wanted = wanted_by(package, Place(installation.place))
    return bounds_that_may_help(wanted, versions, problem.detail)


def _clear_away(pk: int, installation: Installation) -> None:
    """Of what was cancelled or removed meanwhile nothing stays; of what another works on, all."""
    forget_place(installation)
    if not Installation.objects.filter(pk=pk).exists():
        close_connection(installation.integration)


def _told(problem: Exception) -> tuple[str, str]:
    if isinstance(problem, ServerProblemError):
        return problem.reason, f"{problem}\n{problem.detail}".strip()
    return getattr(problem, "code", "failed"), str(problem)


def _launchers() -> Launchers:
    return Launchers.from_settings()


def _is_python(installation: Installation) -> bool:
    package = parse_package(installation.command)
    return package is not None and package.index == "pypi"


def overdue() -> list[int]:
    """Installations that have waited too long, by the database's clock; marked as sent now."""
    seconds = settings.PEGBOARD_SWEEP_AFTER_SECONDS
    between = Q(state__in=_BETWEEN, sent_at__lt=Now() - timedelta(seconds=seconds))
    patience = timedelta(seconds=max(seconds, STEP_SECONDS))
    within = Q(state__in=_WITHIN, sent_at__lt=Now() - patience)
    unresolved = Q(state=State.CONFIGURE, command_digest="", sent_at__lt=Now() - patience)
    waiting = Installation.objects.filter(between | within | unresolved)
    with transaction.atomic():
        keys = list(waiting.select_for_update(skip_locked=True).values_list("pk", flat=True))
        Installation.objects.filter(pk__in=keys).update(sent_at=Now())
    return keys


_KNOWN = (
    ServerProblemError,
    SecretUnavailableError,
    CommandNotAllowedError,
    EndpointNotAllowedError,
    PackageProblemError,
    NothingToInstallError,
)
# A worker has something to do; a version that was found waits for a person.
_TO_DO = Q(state__in=Installation.WORKING) | Q(state=State.CONFIGURE, command_digest="")
_BETWEEN = (State.QUEUED, State.EMBEDDING)
_WITHIN = tuple(state for state in Installation.WORKING if state not in _BETWEEN)
