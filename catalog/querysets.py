"""Questions about capabilities. Every read for a caller starts with `usable_by`."""

from typing import Self

from django.db.models import Q

from acl.rights.rights_statement import RightsTables, UsableQuerySet

TABLES = RightsTables(
    integration="catalog_integration",
    capability="catalog_capability",
    rule="catalog_rule",
    integration_user="catalog_integrationuserpermission",
    integration_group="catalog_integrationgrouppermission",
    capability_user="catalog_capabilityuserpermission",
    capability_group="catalog_capabilitygrouppermission",
)


class CapabilityQuerySet(UsableQuerySet):
    """Reads on: `Capability.objects.usable_by(caller).of_kind("tool").mentioning("mail")`."""

    def rights_tables(self) -> RightsTables:
        return TABLES

    def of_kind(self, kind: str) -> Self:
        """Only one kind; `any`, `all` and an empty text mean every kind."""
        return self if kind in {"", "any", "all"} else self.filter(kind=kind)

    def in_category(self, category: str) -> Self:
        """Only one category; an empty text means every one."""
        return self.filter(category=category) if category else self

    def mentioning(self, words: str) -> Self:
        """Those whose names, description or tags contain every one of the words."""
        found = self
        for word in words.split()[:8]:
            found = found.filter(
                Q(full_name__icontains=word)
                | Q(display_name__icontains=word)
                | Q(description__icontains=word)
                | Q(tags__contains=[word.lower()])
            )
        return found

    def connected(self) -> Self:
        """Without what belongs to a disconnected integration."""
        return self.exclude(integration__connection="disconnected")
