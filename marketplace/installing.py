"""The worker's part of an installation: one step after the other, each safe to do twice.

Everything up to `storing` only looks; that writes what nobody can use yet; the last step shows it.
"""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from catalog.connections.asking import check_server, close_connection
from catalog.indexing import failed, pending
from catalog.mcp_client.commands import (
    CommandNotAllowedError,
    Launchers,
    check_command,
    command_digest,
)
from catalog.mcp_client.problems import ServerProblemError
from catalog.mcp_client.session import Tools
from catalog.models import Integration, Rule
from catalog.models.integration import ReviewState
from catalog.outgoing.addresses import AllowedHosts, check_address
from catalog.outgoing.problems import EndpointNotAllowedError
from catalog.secrets.keys import SecretUnavailableError
from catalog.services.grants import grant_integrations
from catalog.services.reviewing import store_definitions
from catalog.services.rules import add_rule
from marketplace.models import Installation
from marketplace.moving import move

State = Installation.State
MOST_ATTEMPTS = 5
# Longer than any single step may take: a worker that lives is not overtaken.
STEP_SECONDS = 180


class StoppedError(Exception):
    """Somebody else has moved it: cancelled it, or works on it."""


def install(pk: int) -> bool:
    """Take an installation as far as it goes now; True where it waits for its vectors.

    What goes wrong is told in its row.
    """
    installation = _claim(pk)
    if installation is None:
        return False
    try:
        if installation.state != State.EMBEDDING:
            _connect_and_store(installation)
        return installation.state == State.EMBEDDING and not _show_when_embedded(installation)
    except StoppedError:
        return False
    except _KNOWN as problem:
        _fail(installation, problem)
        return False


def _claim(pk: int) -> Installation | None:
    """The installation, its attempt counted before the work that may end the process."""
    working = Installation.objects.filter(pk=pk, state__in=Installation.WORKING)
    with transaction.atomic():
        row = (
            working.select_for_update(skip_locked=True, of=("self",))
            .select_related("integration", "by")
            .first()
        )
        if row is None:
            return None
        if row.attempts >= MOST_ATTEMPTS:
            move(row, State.FAILED, reason="gave_up", message="It ended the worker every time.")
            return None
        # Whatever it was at when its worker died only looked, or can be done again.
        if row.state not in (State.QUEUED, State.EMBEDDING):
            move(row, State.QUEUED, message="Begins again.")
        counts = int(row.state != State.EMBEDDING)
        working.update(attempts=F("attempts") + counts, sent_at=Now())
    return row


def _connect_and_store(installation: Installation) -> None:
    integration = installation.integration
    _go(installation, State.FETCHING, "The launcher fetches the package at its first start.")
    _go(installation, State.CHECKING, "Looks at the command, the address and the secrets.")
    _check(installation)
    _go(installation, State.CONNECTING, "Starts or reaches the server.")
    tools = check_server(integration)
    _go(installation, State.LISTING, f"It has {len(tools.tools)} tools. {tools.left_out}".strip())
    _store(installation, tools)


def _check(installation: Installation) -> None:
    integration = installation.integration
    if integration.transport != "stdio":
        check_address(integration.endpoint, AllowedHosts.from_settings())
        return
    check_command(integration.command, Launchers.from_settings())
    digest = command_digest(integration.command, integration.required_secrets)
    if digest != installation.command_digest:
        raise CommandNotAllowedError("The command is not the one that was confirmed.")


def _store(installation: Installation, tools: Tools) -> None:
    """Its capabilities, which nobody can use while the integration is pending."""
    integration = installation.integration
    with transaction.atomic():
        # In one transaction with the move: who cancels now waits, or has cancelled all of it.
        _go(installation, State.STORING, "Writes its tools into the catalogue.")
        stored = store_definitions(
            integration=integration,
            tools=tools.tools,
            by=installation.by,
            complete=not tools.left_out,
        )
        to = State.NEEDS_APPROVAL if stored.needs_review else State.EMBEDDING
        _go(installation, to, stored.told)


def _show_when_embedded(installation: Installation) -> bool:
    """Show it once it can be found by meaning, or cannot be: by its words it is found anyway."""
    integration = installation.integration
    own = {"capability__integration": integration}
    if pending().filter(**own).exists() and not failed().filter(**own).exists():
        return False
    with transaction.atomic():
        _go(installation, State.READY, "Ready.")
        Integration.objects.filter(pk=integration.pk).update(
            enabled=True, state=ReviewState.APPROVED
        )
        _give(installation)
    return True


def _give(installation: Installation) -> None:
    """To whole groups by grants, to single spaces by rules there."""
    integration, by = installation.integration, installation.by
    for group in installation.groups.order_by("name", "pk"):
        grant_integrations(integrations=[integration], group=group, by=by)
    for space in installation.spaces.select_related("group").order_by("pk"):
        add_rule(by=by, space=space, effect=Rule.Effect.ALLOW, integration=integration)


def _go(installation: Installation, to: State, message: str) -> None:
    if not move(installation, to, message=message):
        raise StoppedError


def _fail(installation: Installation, problem: Exception) -> None:
    reason, message = _told(problem)
    move(installation, State.FAILED, reason=reason, message=message)
    close_connection(installation.integration)


def _told(problem: Exception) -> tuple[str, str]:
    if isinstance(problem, ServerProblemError):
        return problem.reason, f"{problem}\n{problem.detail}".strip()
    return getattr(problem, "code", "failed"), str(problem)


def overdue() -> list[int]:
    """Installations that have waited too long, by the database's clock; marked as sent now."""
    seconds = settings.PEGBOARD_SWEEP_AFTER_SECONDS
    between = Q(state__in=_BETWEEN, sent_at__lt=Now() - timedelta(seconds=seconds))
    patience = timedelta(seconds=max(seconds, STEP_SECONDS))
    within = Q(state__in=_WITHIN, sent_at__lt=Now() - patience)
    waiting = Installation.objects.filter(between | within)
    with transaction.atomic():
        keys = list(waiting.select_for_update(skip_locked=True).values_list("pk", flat=True))
        Installation.objects.filter(pk__in=keys).update(sent_at=Now())
    return keys


_KNOWN = (
    ServerProblemError,
    SecretUnavailableError,
    CommandNotAllowedError,
    EndpointNotAllowedError,
)
_BETWEEN = (State.QUEUED, State.EMBEDDING)
_WITHIN = tuple(state for state in Installation.WORKING if state not in _BETWEEN)
