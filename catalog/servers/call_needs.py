"""What a call is going to need besides its integration's row: in one statement, since most servers
want no secret and nobody has signed in there."""

from typing import NamedTuple

from acl.platform.prepared_statements import rows_of
from catalog.models import Definition, Integration
from catalog.servers.client.server_problems import Reason, ServerProblemError


class Needs(NamedTuple):
    """Whether there are secrets and accounts to be read, and how the tool's definition stands."""

    secrets: bool
    account: bool
    standing: str | None
    approved_hash: str | None

    @property
    def pin(self) -> str:
        """The digest that a person has approved; empty where nobody ever pinned it."""
        if self.standing is None:
            return ""
        if self.standing != Definition.Standing.APPROVED:
            raise ServerProblemError(Reason.CHANGED)
        return self.approved_hash or ""


def needs_of(integration: Integration, name: str) -> Needs:
    """What a call of the tool of that name needs now."""
    [row] = rows_of(_NEEDS, {"integration": integration.pk, "name": name})
    return Needs(*row)


def needs_sql(integration: str, name: str) -> tuple[str, str]:
    """Columns of `Needs`, and the join that they take, for a statement that has these two."""
    columns = f"""
  EXISTS (SELECT FROM catalog_secret own WHERE own.integration_id = {integration}),
  EXISTS (SELECT FROM catalog_oauthconnection own WHERE own.integration_id = {integration}),
  needs.standing, needs.approved_hash"""  # noqa: S608 - our own words
    join = f"""LEFT JOIN catalog_definition needs
  ON needs.integration_id = {integration} AND needs.name = {name}"""
    return columns, join


def _alone() -> str:
    columns, join = needs_sql("%(integration)s::bigint", "%(name)s::text")
    return f"SELECT {columns} FROM (VALUES (1)) one {join}"  # noqa: S608 - our own words


_NEEDS = _alone()
