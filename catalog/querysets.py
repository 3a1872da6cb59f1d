"""Queries for capabilities. Every read for a caller starts with `usable_by`."""

from typing import Self

from django.db.models import Q
from django.db.models.expressions import RawSQL

from acl.rights.statement import RightsTables, UsableQuerySet
from catalog.readiness.obstacles import SKILLS_RUN, can_run_sql, runs_here_sql, unclaimed_sql

# Runtime capabilities that no sweep has retired yet. An index holds those that are not retired;
# OFFSET 0 keeps the planner from reading all capabilities where it overestimates how many ended.
_ENDED = """SELECT ended.id FROM catalog_runtimecapability r CROSS JOIN LATERAL (
    SELECT c.id FROM catalog_capability c WHERE c.full_name = r.full_name OFFSET 0) ended
  WHERE r.state <> 'retired' AND r.expires_at <= statement_timestamp()"""
TABLES = RightsTables(
    integration="catalog_integration",
    capability="catalog_capability",
    rule="catalog_rule",
    integration_user="catalog_integrationuserpermission",
    integration_group="catalog_integrationgrouppermission",
    capability_user="catalog_capabilityuserpermission",
    capability_group="catalog_capabilitygrouppermission",
    can_run=can_run_sql(integration="i", user="%(user)s::bigint"),
    runs_here=runs_here_sql(integration="i"),
    runs_itself=SKILLS_RUN,
    ended=_ENDED,
)
_UNCLAIMED = f"""SELECT c.id FROM catalog_capability c JOIN catalog_integration i
  ON i.id = c.integration_id WHERE {unclaimed_sql(capability="c", integration="i")}"""  # noqa: S608


class CapabilityQuerySet(UsableQuerySet):
    """Chainable: `Capability.objects.usable_by(caller).of_kind("tool").mentioning("mail")`."""

    def rights_tables(self) -> RightsTables:
        return TABLES

    def of_kind(self, kind: str) -> Self:
        """Filter by kind; `any`, `all` and "" match every kind."""
        return self if kind in {"", "any", "all"} else self.filter(kind=kind)

    def in_category(self, category: str) -> Self:
        """Filter by category; "" matches every category."""
        return self.filter(category=category) if category else self

    def mentioning(self, words: str) -> Self:
        """Filter by words: names, description or tags must contain every one."""
        matches = self
        for word in words.split()[:8]:
            matches = matches.filter(
                Q(full_name__icontains=word)
                | Q(display_name__icontains=word)
                | Q(description__icontains=word)
                | Q(tags__contains=[word.lower()])
            )
        return matches

    def claimed(self, *, claimed: bool = True) -> Self:
        """Filter by whether anybody carries a tool out: not those that only came described."""
        ids = RawSQL(_UNCLAIMED, [])  # noqa: S611 - constants only
        return self.exclude(pk__in=ids) if claimed else self.filter(pk__in=ids)

    def connected(self) -> Self:
        """Exclude capabilities of disconnected integrations."""
        return self.exclude(integration__connection="disconnected")
