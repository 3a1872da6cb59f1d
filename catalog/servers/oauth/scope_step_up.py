"""Scopes that a server asks for beyond those of the account (RFC 6750, section 3.1): step-up.

The next sign-in asks for all that were asked for before and the new ones, once. Where the server
refuses them all the same, another sign-in would not help, and nobody is sent into one.
"""

from catalog.models import Integration, OAuthConnection
from catalog.servers.client.scope_challenges import united
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.oauth.tokens import connection_of


def step_up(
    integration: Integration, problem: ServerProblemError, *, user_id: int | None
) -> ServerProblemError:
    """Note what the next sign-in has to ask for; return what to tell of it."""
    wanted, row = problem.detail, connection_of(integration, user_id)
    if row is None or not set(wanted.split()) - set(row.asked_scope.split()):
        return ServerProblemError(Reason.SCOPE_REFUSED, wanted, sent=problem.sent)
    scope = united(row.asked_scope, row.wanted_scope, wanted)[:2000]
    OAuthConnection.objects.filter(pk=row.pk).update(wanted_scope=scope)
    return problem


def scope_to_ask(integration: Integration, user_id: int | None, offered: str) -> str:
    """Return what a sign-in asks for: what the server offers, and what its tools wanted besides."""
    row = OAuthConnection.objects.filter(integration=integration, user=user_id).first()
    if row is None:
        return offered
    # Pegboard may have asked for more than the server lists; a new sign-in takes nothing away.
    return united(offered, row.asked_scope, row.wanted_scope)
