"""Step-up: scopes that a server demands beyond the account's (RFC 6750, section 3.1).

The next sign-in requests all earlier scopes and the new ones, once. If the server still refuses,
another sign-in would not help, so none is suggested.
"""

from catalog.models import Integration, OAuthConnection
from catalog.servers.client.http_transport import merge_scopes
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.oauth.tokens import find_connection


def step_up(
    integration: Integration, problem: ServerProblemError, *, user_id: int | None
) -> ServerProblemError:
    """Record the scopes for the next sign-in; return the problem to report."""
    wanted, row = problem.detail, find_connection(integration, user_id)
    if row is None or not set(wanted.split()) - set(row.asked_scope.split()):
        return ServerProblemError(Reason.SCOPE_REFUSED, wanted, sent=problem.sent)
    scope = merge_scopes(row.asked_scope, row.wanted_scope, wanted)[:2000]
    OAuthConnection.objects.filter(pk=row.pk).update(wanted_scope=scope)
    return problem


def scope_to_ask(integration: Integration, user_id: int | None, offered: str) -> str:
    """Return the scopes to request: offered by the server, or demanded by its tools."""
    row = OAuthConnection.objects.filter(integration=integration, user=user_id).first()
    if row is None:
        return offered
    # A new sign-in must not lose scopes granted earlier, even if the server does not list them.
    return merge_scopes(offered, row.asked_scope, row.wanted_scope)
