"""Requirements of a tool call beyond its integration row, read in one statement.

Most servers have neither secrets nor accounts, so most calls need no further query.
"""

from typing import NamedTuple

from acl.platform.database_connections import rows_of
from catalog.models import Definition, Integration
from catalog.servers.client.server_problems import Reason, ServerProblemError


class CallNeeds(NamedTuple):
    """The presence of secrets and accounts, and the review state of the tool's definition."""

    secrets: bool
    account: bool
    standing: str | None
    approved_hash: str | None

    @property
    def pin(self) -> str:
        """Return the approved digest, or "" if the tool was never pinned.

        Raises ServerProblemError if the definition changed since its approval.
        """
        if self.standing is None:
            return ""
        if self.standing != Definition.Standing.APPROVED:
            raise ServerProblemError(Reason.CHANGED)
        return self.approved_hash or ""


def load_call_needs(integration: Integration, name: str) -> CallNeeds:
    """Return the requirements of a call of the named tool."""
    [row] = rows_of(_NEEDS, {"integration": integration.pk, "name": name})
    return CallNeeds(*row)


def call_needs_sql(integration: str, name: str) -> tuple[str, str]:
    """Return the columns of `CallNeeds` and their join, for use in another statement."""
    columns = f"""
  EXISTS (SELECT FROM catalog_secret own WHERE own.integration_id = {integration}),
  EXISTS (SELECT FROM catalog_oauthconnection own WHERE own.integration_id = {integration}),
  needs.standing, needs.approved_hash"""  # noqa: S608 - constant SQL
    join = f"""LEFT JOIN catalog_definition needs
  ON needs.integration_id = {integration} AND needs.name = {name}"""
    return columns, join


def _standalone_query() -> str:
    columns, join = call_needs_sql("%(integration)s::bigint", "%(name)s::text")
    return f"SELECT {columns} FROM (VALUES (1)) one {join}"  # noqa: S608 - constant SQL


_NEEDS = _standalone_query()
