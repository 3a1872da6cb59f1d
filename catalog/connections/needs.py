"""What a call is going to need besides its integration's row: in one statement, since most servers
want no secret and nobody has signed in there."""

from typing import NamedTuple

from django.db import connection

from catalog.mcp_client.problems import Reason, ServerProblemError
from catalog.models import Definition, Integration


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
    """What a call of this tool needs now."""
    with connection.cursor() as cursor:
        cursor.execute(_NEEDS, {"integration": integration.pk, "name": name})
        return Needs(*cursor.fetchone())


_NEEDS = """
SELECT EXISTS (SELECT FROM catalog_secret WHERE integration_id = %(integration)s),
  EXISTS (SELECT FROM catalog_oauthconnection WHERE integration_id = %(integration)s),
  d.standing, d.approved_hash
FROM (VALUES (1)) one LEFT JOIN catalog_definition d
  ON d.integration_id = %(integration)s AND d.name = %(name)s
"""
